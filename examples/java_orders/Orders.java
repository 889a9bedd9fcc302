import com.ibm.as400.access.AS400;
import com.ibm.as400.access.AS400PackedDecimal;
import com.ibm.as400.access.AS400Text;
import com.ibm.as400.access.DataQueue;
import com.ibm.as400.access.DataQueueEntry;
import com.ibm.as400.access.KeyedDataQueue;
import com.ibm.as400.access.ProgramCall;
import com.ibm.as400.access.ProgramParameter;
import java.math.BigDecimal;

/**
 * Takes orders from the data queue ORDERS (number 6 characters, item 10), has the program PRICE price each one, and
 * answers on the keyed data queue CONFIRMED under the order's number. It ends when no order comes for two seconds.
 */
public class Orders {
    public static void main(String[] args) throws Exception {
        AS400 system = new AS400(args[0], args[1], args[2]);
        system.setGuiAvailable(false);
        for (int at = 3; at < args.length; at++) {  // SERVICE=PORT, where the ports are not the usual ones
            String[] words = args[at].split("=");
            system.setServicePort(Integer.parseInt(words[0]), Integer.parseInt(words[1]));
        }
        DataQueue orders = new DataQueue(system, "/QSYS.LIB/SHOP.LIB/ORDERS.DTAQ");
        KeyedDataQueue confirmed = new KeyedDataQueue(system, "/QSYS.LIB/SHOP.LIB/CONFIRMED.DTAQ");
        DataQueueEntry order;
        while ((order = orders.read(2)) != null) {
            String text = order.getString();
            confirmed.write(text.substring(0, 6), price(system, text.substring(6).trim()));
        }
        system.disconnectAllServices();
    }

    static String price(AS400 system, String item) throws Exception {
        AS400PackedDecimal packed = new AS400PackedDecimal(7, 2);
        ProgramParameter[] parameters = {
            new ProgramParameter(new AS400Text(10, system.getCcsid(), system).toBytes(item)),
            new ProgramParameter(packed.getByteLength()),
        };
        ProgramCall call = new ProgramCall(system, "/QSYS.LIB/SHOP.LIB/PRICE.PGM", parameters);
        if (!call.run()) {
            return "REFUSED " + call.getMessageList()[0].getID();
        }
        return ((BigDecimal) packed.toObject(parameters[1].getOutputData())).toPlainString();
    }
}
