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
        say("structures", () -> {
            AS400Structure line = new AS400Structure(new AS400DataType[] {new AS400Text(8, 37, system), new AS400ZonedDecimal(5, 2), new AS400Bin2()});
            AS400Structure order = new AS400Structure(new AS400DataType[] {
                new AS400Bin4(), new AS400Array(line, 2), new AS400PackedDecimal(9, 2), new AS400Float8(), new AS400ByteArray(3)});
            Object[] lines = {
                new Object[] {"lamp", new java.math.BigDecimal("9.95"), Short.valueOf((short) 3)},
                new Object[] {"chair", new java.math.BigDecimal("-20.00"), Short.valueOf((short) 1)}};
            byte[] sent = order.toBytes(new Object[] {7, lines, new java.math.BigDecimal(0), 0.5, new byte[] {1, 2, 3}});
            AS400Array counts = new AS400Array(new AS400Bin4(), 4);
            ProgramParameter[] parameters = {
                new ProgramParameter(sent, order.getByteLength()), new ProgramParameter(counts.toBytes(new Object[] {1, 2, 3, 4})),
                new ProgramParameter(counts.getByteLength()), new ProgramParameter(ProgramParameter.PASS_BY_REFERENCE, new byte[1]),
            };
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/ORDER.PGM", parameters);
            boolean good = call.run();
            Object[] back = (Object[]) order.toObject(parameters[0].getOutputData());
            Object[] second = (Object[]) ((Object[]) back[1])[1];
            return good + " " + back[0] + " " + second[0] + " " + second[1] + " " + second[2] + " " + back[2] + " " + back[3] + " "
                + java.util.Arrays.toString((byte[]) back[4]) + " " + java.util.Arrays.toString((Object[]) counts.toObject(parameters[2].getOutputData()));
        });
        say("too short a structure", () -> {
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/ORDER.PGM", new ProgramParameter[] {
                new ProgramParameter(new byte[10], 10), new ProgramParameter(new byte[16]), new ProgramParameter(16), new ProgramParameter(new byte[1])});
            return call.run() + " " + call.getMessageList()[0].getID();
        });
        say("profile token", () -> {
            try {
                return system.getProfileToken("ANNA", "Secret1pw");
            } catch (AS400SecurityException error) {
                return error.getReturnCode() == AS400SecurityException.PROFILE_TOKEN_NOT_VALID_MAXIMUM;
            }
        });
        say("profile token of a wrong password", () -> {
            try {
                return system.getProfileToken("ANNA", "nothing");
            } catch (AS400SecurityException error) {
                return error.getReturnCode() == AS400SecurityException.PASSWORD_INCORRECT;
            }
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

        say("job log", () -> {
            CommandCall call = new CommandCall(system);
            call.run("CRTLIB LOGLIB");
            call.run("DLTDTAQ LOGLIB/NONE");
            new ProgramCall(system, "/QSYS.LIB/QGPL.LIB/MAYBE.PGM", new ProgramParameter[0]).run();
            Job job = call.getServerJob();
            JobLog log = new JobLog(system, job.getName(), job.getUser(), job.getNumber());
            log.load();
            QueuedMessage[] all = log.getMessages(0, log.getLength());
            StringBuilder seen = new StringBuilder();
            for (int at = all.length - 3; at < all.length; at++) {
                seen.append(all[at].getID() + " " + all[at].getType() + " " + all[at].getText() + " " + (all[at].getHelp().length() > 20)
                    + " " + (all[at].getDate() != null) + "; ");
            }
            log.setListDirection(false);
            QueuedMessage last = (QueuedMessage) log.getMessages().nextElement();
            log.close();
            return seen + last.getID();
        });
        say("job", () -> {
            CommandCall call = new CommandCall(system);
            Job job = call.getServerJob();
            return job.getName() + " " + job.getUser() + " " + job.getNumber().equals(call.getServerJob().getNumber()) + " " + job.getStatus() + " "
                + job.getType() + " " + job.getCodedCharacterSetID() + " " + job.getValue(Job.CURRENT_USER).toString().trim() + " "
                + job.getRunPriority() + " " + job.getDateFormat().trim() + " " + String.join(",", job.getUserLibraryList());
        });
        say("job that is not there", () -> new Job(system, "NONE", "ANNA", "999999").getStatus());
        say("system values", () -> new SystemValue(system, "QCCSID").getValue() + " " + new SystemValue(system, "QPWDLVL").getValue() + " "
            + new SystemValue(system, "SYSNAME").getValue().toString().trim() + " " + new SystemValue(system, "QMAXSIGN").getValue() + " "
            + (new SystemValue(system, "QDATE").getValue() instanceof java.util.Date));
        say("system value that is not known", () -> new SystemValue(system, "QSRLNBR").getValue());
        say("message loaded", () -> {
            CommandCall call = new CommandCall(system);
            call.run("DLTDTAQ LOGLIB/NONE");
            AS400Message message = call.getMessageList()[call.getMessageList().length - 1];
            message.load();
            return message.getID() + " " + message.getText() + " " + (message.getHelp().length() > 20);
        });
        say("message file", () -> {
            MessageFile file = new MessageFile(system, "/QSYS.LIB/QCPFMSG.MSGF");
            AS400Message message = file.getMessage("CPF9801", new AS400Text(27, 37, system).toBytes("ORDERS    APPLIB    DTAQ   "));
            return message.getText() + " " + message.getSeverity();
        });
        say("message that is not there", () -> new MessageFile(system, "/QSYS.LIB/QCPFMSG.MSGF").getMessage("CPF0000").getText());
        say("job log that is not there", () -> {
            JobLog log = new JobLog(system, "NIGHTLY", "BERT", "999999");
            log.load();
            return log.getLength();
        });
        say("QTEMP", () -> {
            AS400 other = new AS400("127.0.0.1", "ANNA", "Secret1pw");
            ports(other, args, 0);
            DataQueue own = new DataQueue(system, "/QSYS.LIB/QTEMP.LIB/OWN.DTAQ");
            own.create(20);
            own.write("only here");
            boolean there = new DataQueue(other, own.getPath()).exists();
            other.disconnectAllServices();
            return own.read().getString() + " " + there + " " + own.exists();
        });
        say("attributes", () -> {
            DataQueueAttributes wanted = new DataQueueAttributes();
            wanted.setEntryLength(40);
            wanted.setFIFO(false);
            wanted.setSaveSenderInfo(true);
            wanted.setForceToAuxiliaryStorage(true);
            wanted.setAuthority("*USE");
            wanted.setDescription("Last first");
            DataQueue made = new DataQueue(system, "/QSYS.LIB/QGPL.LIB/STACK.DTAQ");
            made.create(wanted);
            DataQueue found = new DataQueue(system, made.getPath());
            found.write("1");
            found.write("2");
            return found.getMaxEntryLength() + " " + found.isFIFO() + " " + found.getSaveSenderInformation() + " "
                + found.getForceToAuxiliaryStorage() + " " + found.getDescription().trim() + " " + found.read().getString();
        });
        say("longest", () -> {
            DataQueue queue = new DataQueue(system, "/QSYS.LIB/QGPL.LIB/LONGEST.DTAQ");
            queue.create(64512);
            byte[] entry = new byte[64512];
            java.util.Arrays.fill(entry, (byte) 27);
            queue.write(entry);
            return java.util.Arrays.equals(queue.read().getData(), entry);
        });
        say("longest key", () -> {
            KeyedDataQueue keys = new KeyedDataQueue(system, "/QSYS.LIB/QGPL.LIB/LONGKEY.DTAQ");
            keys.create(256, 10, "*CHANGE", true, false, "A text of fifty characters, as long as any can be.");
            byte[] key = new byte[256];
            java.util.Arrays.fill(key, (byte) 255);
            keys.write(key, new byte[] {1});
            return keys.read(key).getSenderInformation().substring(26) + keys.getKeyLength() + " " + keys.getDescription().trim();
        });
        say("QCMDEXC", () -> {
            byte[] text = new AS400Text(13, 37, system).toBytes("CRTLIB LOGLIB");
            byte[] length = new AS400PackedDecimal(15, 5).toBytes(new java.math.BigDecimal(13));
            ProgramCall call = new ProgramCall(system, "/QSYS.LIB/QCMDEXC.PGM", new ProgramParameter[] {new ProgramParameter(text), new ProgramParameter(length)});
            boolean good = call.run();
            return good + " " + call.getMessageList().length + " " + call.getMessageList()[0].getID();
        });
        say("service program", () -> {
            ServiceProgramCall call = new ServiceProgramCall(system, "/QSYS.LIB/QGPL.LIB/SRV.SRVPGM", "proc", ServiceProgramCall.NO_RETURN_VALUE, new ProgramParameter[0]);
            return call.run();
        });
        say("user space", () -> {
            UserSpace space = new UserSpace(system, "/QSYS.LIB/QGPL.LIB/SPACE.USRSPC");
            space.setMustUseProgramCall(true);
            space.create(100, true, " ", (byte) 0, "none", "*ALL");
            return "made";
        });

        SecureAS400 secure = new SecureAS400("localhost", "ANNA", "Secret1pw");
        ports(secure, args, 3);
        say("secure", () -> {
            DataQueue queue = new DataQueue(secure, path);
            queue.write("over TLS");
            CommandCall call = new CommandCall(secure);
            return queue.read().getString() + " " + call.run("CRTLIB SECURELIB");
        });
        say("secure pool", () -> {
            AS400ConnectionPool pool = new AS400ConnectionPool();
            StringBuilder seen = new StringBuilder();
            for (int round = 0; round < 3; round++) {
                AS400 one = pool.getSecureConnection("localhost", "ANNA", "Secret1pw", AS400.DATAQUEUE);
                new DataQueue(one, path).write("round " + round);
                seen.append(new DataQueue(one, path).read().getString().substring(6) + (one instanceof SecureAS400) + one.isConnectionAlive());
                pool.returnConnectionToPool(one);
            }
            int available = pool.getAvailableConnectionCount("localhost", "ANNA");
            pool.close();
            return seen + " " + available;
        });
        say("secure to a plain port", () -> {
            SecureAS400 other = new SecureAS400("127.0.0.1", "ANNA", "Secret1pw");
            ports(other, args, 0);
            try {
                return other.validateSignon();
            } catch (java.io.IOException error) {
                return "IOException";
            }
        });
        for (AS400 each : new AS400[] {system, german, secure}) each.disconnectAllServices();
    }
}
