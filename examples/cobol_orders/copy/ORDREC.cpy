      * An order, as it comes in and as it is posted: 40 bytes.
       01  ORDER-RECORD.
           05  ORD-NUMBER        PIC 9(6).
           05  ORD-CUSTOMER      PIC X(8).
           05  ORD-ARTICLE       PIC X(8).
           05  ORD-QUANTITY      PIC 9(5).
           05  ORD-PRICE         PIC 9(5)V99.
           05  FILLER            PIC X(6).
