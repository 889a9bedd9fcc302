      * A rejected order: the order and why.
       01  REJECT-RECORD.
           05  REJ-ORDER         PIC X(40).
           05  REJ-REASON        PIC X(20).
