      *****************************************************************
      * ORDPST: posts orders, one unit of work each: the order goes off
      * the queue only when its posting is written. A failure between
      * the two posts it again, as the output data set is not recovered.
      *****************************************************************
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ORDPST.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  WS-TOTAL              PIC 9(9)V99.
       77  WS-RESP               PIC S9(8) COMP.
       COPY ORDREC.
       01  POSTING.
           05  PST-NUMBER        PIC 9(6).
           05  PST-CUSTOMER      PIC X(8).
           05  PST-TOTAL         PIC 9(9).99.
       PROCEDURE DIVISION.
       NEXT-ORDER.
           EXEC CICS READQ TD QUEUE('ORDP') INTO(ORDER-RECORD)
                RESP(WS-RESP) END-EXEC
           IF WS-RESP = DFHRESP(QZERO)
              EXEC CICS RETURN END-EXEC
           END-IF
           IF WS-RESP NOT = DFHRESP(NORMAL)
              EXEC CICS ABEND ABCODE('OPST') END-EXEC
           END-IF
           MULTIPLY ORD-QUANTITY BY ORD-PRICE GIVING WS-TOTAL
           MOVE ORD-NUMBER TO PST-NUMBER
           MOVE ORD-CUSTOMER TO PST-CUSTOMER
           MOVE WS-TOTAL TO PST-TOTAL
           EXEC CICS WRITEQ TD QUEUE('ORDO') FROM(POSTING) END-EXEC
           EXEC CICS SYNCPOINT END-EXEC
           GO TO NEXT-ORDER.
