      *****************************************************************
      * ORDCHK: says in the COMMAREA why an order is no good, if it is
      * not.
      *****************************************************************
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ORDCHK.
       DATA DIVISION.
       LINKAGE SECTION.
       01  DFHCOMMAREA.
           05  CHK-ORDER.
               10  CHK-NUMBER    PIC 9(6).
               10  CHK-CUSTOMER  PIC X(8).
               10  CHK-ARTICLE   PIC X(8).
               10  CHK-QUANTITY  PIC 9(5).
               10  CHK-PRICE     PIC 9(5)V99.
               10  FILLER        PIC X(6).
           05  CHK-REASON        PIC X(20).
       PROCEDURE DIVISION.
           IF EIBCALEN NOT = 60
              EXEC CICS ABEND ABCODE('OCHK') END-EXEC
           END-IF
           EVALUATE TRUE
              WHEN CHK-QUANTITY NOT NUMERIC
                 MOVE 'QUANTITY NOT NUMERIC' TO CHK-REASON
              WHEN CHK-QUANTITY = 0
                 MOVE 'NOTHING ORDERED' TO CHK-REASON
              WHEN CHK-CUSTOMER = SPACES
                 MOVE 'NO CUSTOMER' TO CHK-REASON
              WHEN OTHER
                 CONTINUE
           END-EVALUATE
           EXEC CICS RETURN END-EXEC.
