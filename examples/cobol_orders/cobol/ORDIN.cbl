      *****************************************************************
      * ORDIN: reads the day's orders from the input data set and puts
      * them on the queue of the validation, which a trigger starts.
      *****************************************************************
       IDENTIFICATION DIVISION.
       PROGRAM-ID. ORDIN.
       DATA DIVISION.
       WORKING-STORAGE SECTION.
       77  WS-LENGTH             PIC S9(4) COMP.
       77  WS-RESP               PIC S9(8) COMP.
       COPY ORDREC.
       PROCEDURE DIVISION.
       READ-NEXT.
           MOVE LENGTH OF ORDER-RECORD TO WS-LENGTH
           EXEC CICS READQ TD QUEUE('ORDI') INTO(ORDER-RECORD)
                LENGTH(WS-LENGTH) RESP(WS-RESP) END-EXEC
           EVALUATE WS-RESP
              WHEN DFHRESP(NORMAL)
                 EXEC CICS WRITEQ TD QUEUE('ORDV')
                      FROM(ORDER-RECORD) END-EXEC
                 GO TO READ-NEXT
              WHEN DFHRESP(QZERO)
                 CONTINUE
              WHEN OTHER
                 EXEC CICS ABEND ABCODE('OIN1') END-EXEC
           END-EVALUATE
           EXEC CICS RETURN END-EXEC.
