import com.ibm.as400.access.*;
import java.math.BigDecimal;

/** What an unmodified toolbox program does; each line of output is a name and what came of it. */
public class Toolbox {
    interface Act { Object run() throws Exception; }

    static void say(String name, Act act) {
        String result;
        try {
            Object value = act.run();
            result = value instanceof byte[] ? new String((byte[]) value) : String.valueOf(value);
        } catch (AS400SecurityException error) {
            result = "AS400SecurityException " + error.getReturnCode();
        } catch (ExtendedIOException error) {
            result = "ExtendedIOException " + error.getReturnCode();
        } catch (ObjectDoesNotExistException error) {
            result = "ObjectDoesNotExistException " + error.getReturnCode();
        } catch (AS400Exception error) {
            result = "AS400Exception " + error.getAS400Message().getID();
        } catch (Exception error) {
            result = error.getClass().getSimpleName();
        }
        System.out.println(name + ": " + result);
    }

    static AS400 system(String[] args, String user, String password) throws Exception {
        AS400 system = new AS400(args[0], user, password);
        system.setGuiAvailable(false);
        system.setServicePort(AS400.SIGNON, Integer.parseInt(args[1]));
        system.setServicePort(AS400.DATAQUEUE, Integer.parseInt(args[2]));
        system.setServicePort(AS400.COMMAND, Integer.parseInt(args[3]));
        return system;
    }

    static String ran(CommandCall call, String text) throws Exception {
        StringBuilder shown = new StringBuilder(String.valueOf(call.run(text)));
        for (AS400Message message : call.getMessageList()) {
            shown.append(" ").append(message.getID()).append(" ").append(message.getText());
        }
        return shown.toString();
    }

    public static void main(String[] args) throws Exception {
        say("unknown user", () -> { system(args, "NOBODY", "x").validateSignon(); return "in"; });
        say("wrong password", () -> { system(args, "ANNA", "wrong").validateSignon(); return "in"; });
        AS400 system = system(args, "ANNA", "Secret1pw");
        say("sign on", () -> system.validateSignon());
        say("vrm", () -> system.getVersion() + "." + system.getRelease());
        say("ccsid", () -> system.getCcsid());

        say("change password", () -> {
            AS400 before = system(args, "BERT", "Secret1pw");
            before.changePassword("Secret1pw", "Other2");
            before.disconnectAllServices();
            return system(args, "BERT", "Other2").validateSignon();
        });
        say("old password", () -> system(args, "BERT", "Secret1pw").validateSignon());
        say("change wrongly", () -> { system(args, "BERT", "x").changePassword("Wrong1", "New1"); return "changed"; });
        say("expired", () -> { ran(new CommandCall(system(args, "BERT", "Other2")), "CALL QGPL/EXPIRE"); return system(args, "BERT", "Other2").validateSignon(); });
        say("change expired", () -> {
            AS400 expired = system(args, "BERT", "Other2");
            expired.changePassword("Other2", "Third3");
            return expired.validateSignon();
        });
        for (int round = 1; round <= 4; round++) {
            int one = round;
            say("disabling " + one, () -> system(args, "BERT", "Wrong1").validateSignon());
        }
        say("last sign-on", () -> system.getSignonDate() != null && system.getPreviousSignonDate() != null);

        CommandCall command = new CommandCall(system);
        say("crtlib", () -> ran(command, "CRTLIB TESTLIB TEXT('It''s a test')"));
        say("bad command", () -> ran(command, "DSPNOTHING"));
        say("bad keyword", () -> ran(command, "CRTDTAQ DTAQ(TESTLIB/X) MAXLEN(5) COLOR(RED)"));

        DataQueue fifo = new DataQueue(system, "/QSYS.LIB/TESTLIB.LIB/FIFO.DTAQ");
        say("absent", () -> fifo.read());
        say("create", () -> { fifo.create(100, "*ALL", true, true, false, "A queue"); return "made"; });
        say("create again", () -> { fifo.create(100); return "made"; });
        say("empty", () -> fifo.read());
        say("short wait", () -> fifo.read(1));
        say("write", () -> { fifo.write("first"); fifo.write("second"); fifo.write(new byte[] {0, 1, (byte) 255}); return "sent"; });
        say("peek", () -> fifo.peek().getString());
        say("read", () -> fifo.read().getString());
        say("sender", () -> fifo.read().getSenderInformation());
        say("bytes", () -> fifo.read().getData().length);
        say("too long", () -> { fifo.write(new byte[101]); return "sent"; });
        say("attributes", () -> new DataQueue(system, fifo.getPath()).getMaxEntryLength() + " " + new DataQueue(system, fifo.getPath()).getDescription());
        say("not keyed", () -> new KeyedDataQueue(system, fifo.getPath()).read(new byte[3]));

        KeyedDataQueue keyed = new KeyedDataQueue(system, "/QSYS.LIB/TESTLIB.LIB/KEYED.DTAQ");
        say("keyed create", () -> { keyed.create(3, 50); return "made"; });
        say("keyed write", () -> {
            for (String key : new String[] {"GGG", "XXX", "AAA"}) keyed.write(key, "of " + key);
            return "sent";
        });
        say("keyed LE", () -> { KeyedDataQueueEntry entry = keyed.read("XXX", 0, "LE"); return entry.getKeyString() + " " + entry.getString(); });
        say("keyed EQ", () -> keyed.peek("XXX", 0, "EQ").getString());
        say("keyed none", () -> keyed.read("BBB", 0, "EQ"));
        say("key length", () -> keyed.read(new byte[5], 0, "EQ"));
        say("is keyed", () -> new DataQueue(system, keyed.getPath()).read());
        say("clear key", () -> { keyed.clear("GGG"); return keyed.read("GGG"); });
        say("clear", () -> { keyed.clear(); return keyed.read("AAA", 0, "GE"); });

        say("waiting read", () -> {
            AS400 other = system(args, "ANNA", "Secret1pw");
            Thread sender = new Thread(() -> {
                try {
                    Thread.sleep(300);
                    new DataQueue(other, fifo.getPath()).write("at last");
                } catch (Exception error) {
                    System.out.println("sender: " + error);
                }
            });
            sender.start();
            String found = fifo.read(-1).getString();
            sender.join();
            other.disconnectAllServices();
            return found;
        });

        say("ping", () -> system.isConnectionAlive());
        fifo.write("one");
        say("program", () -> {
            ProgramParameter[] parameters = {
                new ProgramParameter(120), new ProgramParameter(BinaryConverter.intToByteArray(120)),
                new ProgramParameter(new AS400Text(8, 37, system).toBytes("RDQD0100")),
                new ProgramParameter(new AS400Text(20, 37, system).toBytes("FIFO      TESTLIB   ")),
            };
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QMHQRDQD.PGM", parameters);
            boolean good = call.run();
            byte[] out = parameters[0].getOutputData();
            return good + " " + BinaryConverter.byteArrayToInt(out, 8) + " " + BinaryConverter.byteArrayToInt(out, 72);
        });
        say("program refused", () -> {
            ProgramParameter[] parameters = {
                new ProgramParameter(120), new ProgramParameter(BinaryConverter.intToByteArray(120)),
                new ProgramParameter(new AS400Text(8, 37, system).toBytes("RDQD9999")),
                new ProgramParameter(new AS400Text(20, 37, system).toBytes("FIFO      TESTLIB   ")),
            };
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QMHQRDQD.PGM", parameters);
            return call.run() + " " + call.getMessageList()[0].getID() + " " + call.getMessageList()[0].getText();
        });
        say("receive program", () -> {
            AS400PackedDecimal five = new AS400PackedDecimal(5, 0);
            ProgramParameter[] parameters = {
                new ProgramParameter(new AS400Text(10, 37, system).toBytes("FIFO")),
                new ProgramParameter(new AS400Text(10, 37, system).toBytes("TESTLIB")),
                new ProgramParameter(3), new ProgramParameter(100), new ProgramParameter(five.toBytes(new BigDecimal(0))),
            };
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QRCVDTAQ.PGM", parameters);
            boolean good = call.run();
            return good + " " + five.toObject(parameters[2].getOutputData()) + " "
                + new AS400Text(3, 37, system).toObject(parameters[3].getOutputData());
        });
        say("own program", () -> {
            ProgramParameter[] parameters = { new ProgramParameter(BinaryConverter.intToByteArray(21), 4) };
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/DOUBLE.PGM", parameters);
            return call.run() + " " + BinaryConverter.byteArrayToInt(parameters[0].getOutputData(), 0);
        });
        say("no program", () -> new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/NOPE.PGM", new ProgramParameter[0]).run());
        say("no library", () -> new ProgramCall(system, "/QSYS.LIB/NOLIB.LIB/NOPE.PGM", new ProgramParameter[0]).run());
        say("server job", () -> command.getServerJob().getName() + " " + command.getServerJob().getUser());
        say("delete", () -> { fifo.delete(); return fifo.exists(); });
        say("dltlib", () -> ran(command, "DLTLIB TESTLIB"));
        say("library gone", () -> fifo.read());
        system.disconnectAllServices();
    }
}
