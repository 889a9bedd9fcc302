import com.ibm.as400.access.*;

/** Pools, keys, character sets, secure connections and programs, as toolbox programs use them. */
public class Clients {
    interface Act { Object run() throws Exception; }

    static void say(String name, Act act) {
        String result;
        try {
            result = String.valueOf(act.run());
        } catch (Exception error) {
            result = error.getClass().getSimpleName() + " " + error.getMessage();
        }
        System.out.println(name + ": " + result);
    }

    static void ports(AS400 system, String[] args, int first) throws Exception {
        system.setGuiAvailable(false);
        system.setServicePort(AS400.SIGNON, Integer.parseInt(args[first]));
        system.setServicePort(AS400.DATAQUEUE, Integer.parseInt(args[first + 1]));
        system.setServicePort(AS400.COMMAND, Integer.parseInt(args[first + 2]));
    }

    public static void main(String[] args) throws Exception {
        AS400 system = new AS400("127.0.0.1", "ANNA", "Secret1pw");
        ports(system, args, 0);
        String path = "/QSYS.LIB/QGPL.LIB/FIFO.DTAQ";
        DataQueue fifo = new DataQueue(system, path);
        fifo.create(100);

        say("pool", () -> {
            AS400ConnectionPool pool = new AS400ConnectionPool();
            pool.setMaxConnections(3);
            pool.setPretestConnections(true);
            pool.fill("127.0.0.1", "ANNA", "Secret1pw", AS400.DATAQUEUE, 2);
            StringBuilder seen = new StringBuilder();
            for (int round = 0; round < 5; round++) {
                AS400 one = pool.getConnection("127.0.0.1", "ANNA", "Secret1pw", AS400.DATAQUEUE);
                new DataQueue(one, path).write("round " + round);
                pool.returnConnectionToPool(one);
            }
            for (int round = 0; round < 5; round++) seen.append(fifo.read().getString().substring(6));
            int available = pool.getAvailableConnectionCount("127.0.0.1", "ANNA");
            pool.close();
            return seen + " " + available;
        });
        say("pool with a wrong password", () -> {
            AS400ConnectionPool pool = new AS400ConnectionPool();
            try {
                return pool.getConnection("127.0.0.1", "BERT", "nothing", AS400.DATAQUEUE);
            } catch (ConnectionPoolException error) {
                return "ConnectionPoolException";
            } finally {
                pool.close();
            }
        });

        KeyedDataQueue keyed = new KeyedDataQueue(system, "/QSYS.LIB/QGPL.LIB/KEYED.DTAQ");
        keyed.create(4, 80);
        say("byte keys", () -> {
            for (int each : new int[] {255, 0, 128, 7}) keyed.write(new byte[] {0, 0, (byte) each, 1}, new byte[] {(byte) each});
            StringBuilder seen = new StringBuilder();
            KeyedDataQueueEntry entry;
            while ((entry = keyed.read(new byte[4], 0, "GE")) != null) seen.append((entry.getKey()[2] & 255) + "=" + (entry.getData()[0] & 255) + " ");
            return seen;
        });
        say("orders", () -> {
            for (String key : new String[] {"BBBB", "DDDD", "AAAA"}) keyed.write(key, key.toLowerCase());
            StringBuilder seen = new StringBuilder();
            for (String order : new String[] {"EQ", "NE", "LT", "LE", "GT", "GE"}) {
                KeyedDataQueueEntry entry = keyed.peek("BBBB", 0, order);
                seen.append(order + "=" + (entry == null ? "none" : entry.getString()) + " ");
            }
            keyed.clear();
            return seen;
        });
        say("short string key", () -> { keyed.write("Z", "short"); return keyed.read(new byte[] {(byte) 0xE9, 0, 0, 0}, 0, "EQ").getString(); });

        say("EBCDIC", () -> { fifo.write("Gr\u00fc\u00dfe"); return fifo.peek().getString() + " " + fifo.read().getData().length; });
        AS400 german = new AS400("127.0.0.1", "ANNA", "Secret1pw");
        german.setCcsid(273);
        say("German EBCDIC", () -> { new DataQueue(german, path).write("Gr\u00fc\u00dfe {"); return fifo.peek().getString() + " " + new DataQueue(german, path).read().getString(); });
        DataQueue unicode = new DataQueue(system, path);
        unicode.setCcsid(1200);
        say("Unicode", () -> { unicode.write("\u6771\u4eac \u20ac"); return unicode.peek().getString() + " " + fifo.read().getData().length; });

        say("program", () -> {
            AS400PackedDecimal packed = new AS400PackedDecimal(7, 2);
            ProgramParameter[] parameters = {
                new ProgramParameter(new AS400Text(10, 37, system).toBytes("widget")),
                new ProgramParameter(packed.toBytes(new java.math.BigDecimal("12.50")), 4),
                new ProgramParameter(3000),
            };
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/PRICE.PGM", parameters);
            return call.run() + " " + packed.toObject(parameters[1].getOutputData()) + " "
                + ((String) new AS400Text(3000, 37, system).toObject(parameters[2].getOutputData())).trim();
        });
        say("null parameter", () -> {
            ProgramParameter nothing = new ProgramParameter();
            nothing.setNullParameter(true);
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/MAYBE.PGM", new ProgramParameter[] {nothing, new ProgramParameter(5)});
            return call.run() + " " + new AS400Text(5, 37, system).toObject(call.getParameterList()[1].getOutputData());
        });
        say("wrong size", () -> {
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/MAYBE.PGM", new ProgramParameter[] {new ProgramParameter(new byte[2]), new ProgramParameter(2)});
            AS400Message[] messages;
            boolean good = call.run();
            messages = call.getMessageList();
            return good + " " + messages[messages.length - 1].getID() + " " + (messages[messages.length - 1].getHelp() != null);
        });
        say("submitted", () -> {
            CommandCall call = new CommandCall(system);
            boolean good = call.run("SBMJOB CMD(CALL PGM(QGPL/SAY) PARM('from a job')) JOB(NIGHT)");
            return good + " " + call.getMessageList()[0].getID() + " " + fifo.read(20).getString();
        });
        say("second-level text", () -> {
            CommandCall call = new CommandCall(system);
            call.run("CRTDTAQ QGPL/FIFO 5");
            AS400Message message = call.getMessageList()[0];
            return message.getID() + " " + message.getType() + " " + message.getSeverity() + " " + message.getHelp().startsWith("Cause")
                + " " + new AS400Text(10, 37, system).toObject(message.getSubstitutionData());
        });

        SecureAS400 secure = new SecureAS400("localhost", "ANNA", "Secret1pw");
        ports(secure, args, 3);
        say("secure", () -> {
            DataQueue queue = new DataQueue(secure, path);
            queue.write("over TLS");
            CommandCall call = new CommandCall(secure);
            return queue.read().getString() + " " + call.run("CRTLIB SECURELIB");
        });
        for (AS400 each : new AS400[] {system, german, secure}) each.disconnectAllServices();
    }
}
