      *****************************************************************
      * ORDVAL: validates orders. Good ones go to the recoverable queue
      * of the posting, bad ones to the queue of rejects.
      *****************************************************************
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ORDVAL.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       01  WS-CHECK.
           05  WS-CHECK-ORDER    PIC X(40).
           05  WS-CHECK-REASON   PIC X(20).
       COPY ORDREC.
       COPY REJREC.
       PROCEDURE DIVISION.
       MAIN-LINE.
           EXEC CICS HANDLE CONDITION QZERO(NO-MORE) END-EXEC.
       NEXT-ORDER.
           EXEC CICS READQ TD QUEUE('ORDV')
                INTO(ORDER-RECORD) END-EXEC
           MOVE ORDER-RECORD TO WS-CHECK-ORDER
           MOVE SPACES TO WS-CHECK-REASON
           EXEC CICS LINK PROGRAM('ORDCHK') COMMAREA(WS-CHECK)
                LENGTH(LENGTH OF WS-CHECK) END-EXEC
           IF WS-CHECK-REASON = SPACES
              EXEC CICS WRITEQ TD QUEUE('ORDP')
                   FROM(ORDER-RECORD) END-EXEC
           ELSE
              MOVE WS-CHECK TO REJECT-RECORD
              EXEC CICS WRITEQ TD QUEUE('ORDR')
                   FROM(REJECT-RECORD) END-EXEC
           END-IF
           GO TO NEXT-ORDER.
       NO-MORE.
           EXEC CICS RETURN END-EXEC.
