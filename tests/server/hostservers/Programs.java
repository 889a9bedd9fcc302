import com.ibm.as400.access.*;
import com.ibm.as400.data.ProgramCallDocument;
import java.math.BigDecimal;

/** Programs of the system and commands as toolbox programs call them: every parameter, null and omitted ones, jobs, documents. */
public class Programs {
    static AS400 system;

    static byte[] text(int length, String value) {
        return new AS400Text(length, 37, system).toBytes(value);
    }

    static byte[] packed(int digits, int value) {
        return new AS400PackedDecimal(digits, 0).toBytes(new BigDecimal(value));
    }

    static ProgramParameter in(byte[] value) {
        return new ProgramParameter(value);
    }

    static ProgramParameter none() throws Exception {
        ProgramParameter nothing = new ProgramParameter();
        nothing.setNullParameter(true);
        return nothing;
    }

    static String number(ProgramParameter parameter, int digits) {
        return String.valueOf(new AS400PackedDecimal(digits, 0).toObject(parameter.getOutputData()));
    }

    static String shown(ProgramParameter parameter, int at, int length) {
        return ((String) new AS400Text(length, 37, system).toObject(parameter.getOutputData(), at)).trim();
    }

    static String called(String name, ProgramParameter... parameters) throws Exception {
        ProgramCall call = new ProgramCall(system);
        call.setProgram("/QSYS.LIB/" + name + ".PGM", parameters);
        StringBuilder seen = new StringBuilder(String.valueOf(call.run()));
        for (AS400Message message : call.getMessageList()) seen.append(" ").append(message.getID());
        return seen.toString();
    }

    static String ran(String... commands) throws Exception {
        CommandCall call = new CommandCall(system);
        StringBuilder seen = new StringBuilder();
        for (String command : commands) {
            call.run(command);
            for (AS400Message message : call.getMessageList()) seen.append(message.getID()).append(" ");
        }
        return seen.toString().trim();
    }

    static ProgramParameter[] send(String queue, String library, String data) throws Exception {
        return new ProgramParameter[] {in(text(10, queue)), in(text(10, library)), in(packed(5, data.length())), in(text(data.length(), data))};
    }

    static String sent(String queue, String library, String data) throws Exception {
        return called("QSNDDTAQ", send(queue, library, data));
    }

    static String received(String queue, String library) throws Exception {
        ProgramParameter[] all = {in(text(10, queue)), in(text(10, library)), new ProgramParameter(3), new ProgramParameter(20), in(packed(5, 0))};
        String seen = called("QRCVDTAQ", all);
        return seen + " " + (all[2].getOutputData() == null ? "-" : number(all[2], 5) + " " + shown(all[3], 0, Integer.parseInt(number(all[2], 5))));
    }

    public static void main(String[] args) throws Exception {
        system = new AS400("127.0.0.1", "ANNA", "Secret1pw");
        Clients.ports(system, args, 0);
        Clients.say("queues", () -> ran("CRTDTAQ QGPL/K MAXLEN(20) SEQ(*KEYED) KEYLEN(3) SENDERID(*YES)", "CRTDTAQ QGPL/F MAXLEN(20)", "CRTLIB TO"));
        Clients.say("send by key", () -> {
            StringBuilder seen = new StringBuilder();
            for (String key : new String[] {"GGG", "XXX", "AAA"}) {
                seen.append(called("QSNDDTAQ", in(text(10, "K")), in(text(10, "QGPL")), in(packed(5, 3)), in(text(3, key.toLowerCase())), in(packed(3, 3)), in(text(3, key)))).append(" ");
            }
            return seen;
        });
        Clients.say("receive with all thirteen", () -> {
            ProgramParameter length = new ProgramParameter(3), data = new ProgramParameter(20), key = new ProgramParameter(text(3, "XXX"), 3), sender = new ProgramParameter(44), code = new ProgramParameter(new byte[16], 16);
            String seen = called("QRCVDTAQ", in(text(10, "K")), in(text(10, "QGPL")), length, data, in(packed(5, 0)), in(text(2, "LE")), in(packed(3, 3)), key,
                in(packed(3, 44)), sender, in(text(10, "*NO")), in(packed(5, 20)), code);
            return seen + " " + number(length, 5) + " " + shown(data, 0, 3) + " " + shown(key, 0, 3) + " " + shown(sender, 8, 10) + " " + shown(sender, 34, 10);
        });
        Clients.say("receive with the error in its code", () -> {
            ProgramParameter code = new ProgramParameter(new byte[] {0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 30);
            String seen = called("QRCVDTAQ", in(text(10, "NONE")), in(text(10, "QGPL")), new ProgramParameter(3), new ProgramParameter(20), in(packed(5, 0)), in(text(2, "")), in(packed(3, 0)), in(text(1, "")),
                in(packed(3, 0)), in(text(1, "")), in(text(10, "*YES")), in(packed(5, 20)), code);
            return seen + " " + BinaryConverter.byteArrayToInt(code.getOutputData(), 4) + " " + shown(code, 8, 7);
        });
        Clients.say("receive of a null length", () -> called("QRCVDTAQ", in(text(10, "F")), in(text(10, "QGPL")), none(), new ProgramParameter(20), in(packed(5, 0))));
        Clients.say("send with too few", () -> called("QSNDDTAQ", in(text(10, "F")), in(text(10, "QGPL")), in(packed(5, 1))));
        Clients.say("send with half a group", () -> called("QSNDDTAQ", in(text(10, "K")), in(text(10, "QGPL")), in(packed(5, 1)), in(text(1, "x")), in(packed(3, 3))));
        Clients.say("send with too many", () -> {
            ProgramParameter[] many = new ProgramParameter[12];
            java.util.Arrays.setAll(many, each -> in(text(10, "F")));
            return called("QSNDDTAQ", many);
        });
        Clients.say("send of what is not packed", () -> called("QSNDDTAQ", in(text(10, "F")), in(text(10, "QGPL")), in(new byte[] {0, 0, 1}), in(text(1, "x"))));
        Clients.say("names of a user", () -> sent("F", "*LIBL", "a") + " " + sent("f", "qgpl", "b") + " " + sent("F", "*CURLIB", "c"));
        Clients.say("clear by key", () -> called("QCLRDTAQ", in(text(10, "K")), in(text(10, "QGPL")), in(text(2, "LT")), in(packed(3, 3)), in(text(3, "XXX")), new ProgramParameter(new byte[8], 8))
            + " " + new KeyedDataQueue(system, "/QSYS.LIB/QGPL.LIB/K.DTAQ").peek(new byte[3], 0, "GE").getKeyString());
        Clients.say("messages of a queue", () -> {
            ProgramParameter receiver = new ProgramParameter(200);
            String seen = called("QMHRDQM", receiver, in(BinaryConverter.intToByteArray(200)), in(text(8, "RDQM0200")), in(text(20, "F         QGPL")),
                in(new byte[] {(byte) 0xC1, 0, 0, 0, 0, 0, 0, 10}), in(BinaryConverter.intToByteArray(8)), in(text(8, "RDQS0100")), new ProgramParameter(new byte[8], 8));
            byte[] out = receiver.getOutputData();
            int first = BinaryConverter.byteArrayToInt(out, 40), second = BinaryConverter.byteArrayToInt(out, first);
            return seen + " " + BinaryConverter.byteArrayToInt(out, 8) + " " + BinaryConverter.byteArrayToInt(out, 12) + " " + BinaryConverter.byteArrayToInt(out, first + 12) + shown(receiver, first + 16, 1) + shown(receiver, second + 16, 1);
        });
        Clients.say("change", () -> {
            byte[] changes = {0, 0, 0, 1, 0, 0, 0, 100, 0, 0, 0, 1, (byte) 0xF1};
            ProgramParameter told = new ProgramParameter(120);
            String seen = called("QMHQCDQ", in(text(20, "F         QGPL")), in(changes), new ProgramParameter(new byte[8], 8));
            called("QMHQRDQD", told, in(BinaryConverter.intToByteArray(120)), in(text(8, "RDQD0100")), in(text(20, "F         QGPL")));
            return seen + " " + shown(told, 70, 1);
        });
        Clients.say("libraries", () -> ran("ADDLIBLE TO *FIRST", "CHGCURLIB TO", "RMVLIBLE TO", "CHGLIBL LIBL(QGPL QTEMP) CURLIB(*CRTDFT)", "RMVLIBLE NONE"));
        Clients.say("moved", () -> {
            String seen = ran("CRTDTAQ QGPL/MOVED 20") + " " + sent("MOVED", "QGPL", "1") + " " + ran("MOVOBJ QGPL/MOVED *DTAQ TO");
            seen += " " + sent("MOVED", "QGPL", "2") + " " + ran("CRTDTAQ QGPL/MOVED 20") + " " + sent("MOVED", "QGPL", "3");
            return seen + " " + received("MOVED", "TO") + ", " + received("MOVED", "TO") + ", " + received("MOVED", "TO") + ", " + received("MOVED", "TO");
        });
        Clients.say("renamed", () -> {
            String seen = ran("CRTDTAQ TO/OLD 20") + " " + sent("OLD", "TO", "1") + " " + ran("RNMOBJ TO/OLD *DTAQ NEW") + " " + sent("OLD", "TO", "2");
            seen += " " + received("NEW", "TO") + ", " + received("NEW", "TO") + ", " + ran("RNMOBJ TO/OLD *DTAQ NEWER", "RNMOBJ TO/NEW *DTAQ MOVED", "MOVOBJ TO/MOVED *DTAQ QGPL");
            system.disconnectService(AS400.COMMAND);
            return seen + " " + sent("OLD", "TO", "3");
        });
        Clients.say("moved under a connection", () -> {
            DataQueue queue = new DataQueue(system, "/QSYS.LIB/QGPL.LIB/F.DTAQ");
            queue.clear();
            queue.write("before");
            String seen = ran("MOVOBJ QGPL/F *DTAQ TO");
            queue.write("after");
            DataQueue there = new DataQueue(system, "/QSYS.LIB/TO.LIB/F.DTAQ");
            seen += " " + there.read().getString() + " " + there.read().getString();
            system.disconnectService(AS400.DATAQUEUE);
            try {
                queue.write("gone");
                return seen + " written";
            } catch (ObjectDoesNotExistException error) {
                return seen + " " + error.getReturnCode();
            }
        });
        Clients.say("messages as wanted", () -> {
            StringBuilder seen = new StringBuilder();
            for (int option : new int[] {AS400Message.MESSAGE_OPTION_UP_TO_10, AS400Message.MESSAGE_OPTION_NONE, AS400Message.MESSAGE_OPTION_ALL}) {
                CommandCall call = new CommandCall(system, "DLTDTAQ QGPL/NONE");
                call.setMessageOption(option);
                seen.append(call.run() + " " + call.getMessageList().length + " ");
            }
            return seen;
        });
        Clients.say("lower case and blanks", () -> ran("  crtdtaq   dtaq( qgpl/low )  maxlen( 5 ) text('it''s low')  ", "/* only a comment */", "dltdtaq qgpl/low /* gone */"));
        Clients.say("what a CL person mistypes", () -> ran("CRTDTAQ QGPL/T MAXLEN(5", "CRTDTAQ QGPL/T MAXLEN(5))", "CRTDTAQ QGPL/T MAXLEN(FIVE)", "CRTDTAQ QGPL/T TEXT('open)", "CRTDTAQ QGPL/T 5 5 5 5 5 5 5 5 5", "CRTDTAQ", "CRTDTAQ QGPL/TOOLONGANAME 5",
            "CRTDTAQ QGPL/T MAXLEN(5) MAXLEN(6)", "CRTDTAQ DTAQ(QGPL/T) MAXLEN(64513)"));
        Clients.say("thread safety", () -> new CommandCall(system, "CRTLIB X").isThreadSafe());
        Clients.say("a document", () -> {
            ProgramCallDocument document = new ProgramCallDocument(system, "Description");
            boolean good = document.callProgram("describe");
            return good + " " + document.getIntValue("describe.told.length") + " " + document.getValue("describe.told.sequence") + " " + document.getValue("describe.told.name").toString().trim();
        });
        Clients.say("job", () -> {
            Job job = new CommandCall(system).getServerJob();
            return String.join(" ", job.getSubsystem() + "|" + job.getQueue() + "|" + job.getOutputQueue(), "" + job.getOutputQueuePriority(), job.getPrinterDeviceName(), "" + job.getLoggingLevel(), "" + job.getLoggingSeverity(),
                job.getLoggingText(), "" + job.getEndSeverity(), job.getInquiryMessageReply(), job.getBreakMessageHandling(), job.getJobSwitches(), job.getLanguageID(), job.getCountryID(), job.getDateSeparator(), job.getTimeSeparator(),
                job.getSortSequenceTable(), job.getValue(Job.KEEP_DDM_CONNECTIONS_ACTIVE).toString().trim(), "" + job.getTimeSlice(), "" + job.getDefaultWait(), "" + job.getPurge(), job.getTimeSliceEndPool(), "" + job.getCPUUsed(), job.getPoolIdentifier() + "");
        });
        Clients.say("job dates", () -> {
            Job job = new CommandCall(system).getServerJob();
            java.util.Date now = new java.util.Date();
            job.loadStatistics();
            return (now.getTime() - job.getJobActiveDate().getTime() < 864e5) + " " + (now.getTime() - job.getJobEnterSystemDate().getTime() < 864e5) + " " + (job.getJobDate() != null) + " " + job.getJobEndedDate() + " " + job.getValue(Job.ELAPSED_TIME) + " "
                + job.getValue(Job.ELAPSED_CPU_TIME_USED) + " " + job.getStatus() + " " + job.getCompletionStatus().trim() + "|" + job.getValue(Job.SERVER_TYPE);
        });
        Clients.say("list of jobs", () -> new JobList(system).getLength());
        Clients.say("description of an object", () -> new ObjectDescription(system, "/QSYS.LIB/QGPL.LIB/K.DTAQ").exists());
        Clients.say("user", () -> new User(system, "ANNA").getUserProfileName());
        system.disconnectAllServices();
    }
}
