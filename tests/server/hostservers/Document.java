import com.ibm.as400.access.*;
import com.ibm.as400.vaccess.DataQueueDocument;
import com.ibm.as400.vaccess.KeyedDataQueueDocument;

/** The documents of the toolbox's visual part: a data queue as the text of an input field. */
public class Document {
    public static void main(String[] args) throws Exception {
        AS400 system = new AS400("127.0.0.1", "ANNA", "Secret1pw");
        system.setGuiAvailable(false);
        system.setServicePort(AS400.SIGNON, Integer.parseInt(args[0]));
        system.setServicePort(AS400.DATAQUEUE, Integer.parseInt(args[1]));
        system.setServicePort(AS400.COMMAND, Integer.parseInt(args[2]));
        new DataQueue(system, "/QSYS.LIB/QGPL.LIB/FIFO.DTAQ").create(100);
        new KeyedDataQueue(system, "/QSYS.LIB/QGPL.LIB/KEYED.DTAQ").create(3, 100);
        DataQueueDocument document = new DataQueueDocument(system, "/QSYS.LIB/QGPL.LIB/FIFO.DTAQ");
        document.addErrorListener(event -> System.out.println("error: " + event.getException()));
        document.insertString(0, "an entry", null);
        document.write();
        document.remove(0, document.getLength());
        document.peek();
        System.out.println("peek: " + document.getText(0, document.getLength()));
        document.remove(0, document.getLength());
        document.read();
        System.out.println("read: " + document.getText(0, document.getLength()));
        document.read();
        System.out.println("again: " + document.getText(0, document.getLength()));
        KeyedDataQueueDocument keyed = new KeyedDataQueueDocument(system, "/QSYS.LIB/QGPL.LIB/KEYED.DTAQ");
        keyed.addErrorListener(event -> System.out.println("error: " + event.getException()));
        keyed.insertString(0, "of a key", null);
        keyed.write("ABC");
        keyed.remove(0, keyed.getLength());
        keyed.read("ABC");
        System.out.println("keyed: " + keyed.getText(0, keyed.getLength()));
        system.disconnectAllServices();
        System.exit(0);
    }
}
