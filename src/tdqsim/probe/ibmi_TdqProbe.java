// The probe for IBM i: it runs the cases of a file on a system and writes what it observes to an answers file.
// It needs only the IBM Toolbox for Java (JTOpen, jt400.jar). It creates the library LIB and, for some cases, LIB2, and
// deletes both at the end; it refuses to start when one of them is there.
//
//   javac -cp jt400.jar TdqProbe.java
//   java -cp jt400.jar:. TdqProbe HOST USER KEY=VALUE ...
//
// lib=, lib2=      the libraries (TDQPROBE, TDQPROBE2)
// user2=           a second user without special authority; some cases are left out without one
// job=             number/user/name of an active job of another user, for one case
// location=        a remote location name that leads back to this system, for cases of DDM data queues
// cases=, out=     the files (tdqprobe.txt, tdqprobe.answers)
// rules=A,B        only the cases of these rules
// without=slow     leave out cases that wait for a long time
// ports=S,D,C,M    the ports of the sign-on, data queue and command servers and of the port mapper
// pause=1000       milliseconds after which a job that was started must be waiting
// keep=yes         keep an existing library LIB, with the programs TDQXCL and TDQPARM, and do not delete it
//
// The passwords are read from the environment (TDQ_PASSWORD, TDQ_PASSWORD2) or from the console.

import com.ibm.as400.access.*;
import java.io.*;
import java.net.Socket;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.*;
import java.sql.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.regex.*;

public class TdqProbe {
    static final Charset EBCDIC = Charset.forName("Cp037");
    static final Pattern MESSAGE_ID = Pattern.compile("\\b[A-Z]{3}[0-9A-F]{4}\\b");
    static final String[] SERVICES = {"as-signon", "as-dtaq", "as-rmtcmd"};
    static final int[] SERVERS = {0xE009, 0xE007, 0xE008};
    static final int[] USUAL_PORTS = {8476, 8472, 8475, 449};
    static final Map<String, String> FIELDS = new HashMap<>();

    static {
        for (String pair : "show=DATA number=NUMBER same=SAME journal=TYPES code=RETURNED frame=RETCODE signed=RETCODE silence=SECONDS".split(" ")) {
            FIELDS.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
    }

    /** The rest of a case is left out. */
    static class Left extends Exception {
        Left(String reason) { super(reason); }
    }

    /** A result, and the parameters of the call that gave it. */
    static class Outcome {
        final String result;
        final byte[][] storage;

        Outcome(String result, byte[]... storage) {
            this.result = result;
            this.storage = storage;
        }
    }

    final String host;
    final String user;
    final char[] password;
    final char[] password2;
    final Map<String, String> given;
    final int[] ports = USUAL_PORTS.clone();
    final AS400 main;
    final Map<Integer, AS400> others = new TreeMap<>();
    final ExecutorService threads = Executors.newCachedThreadPool();
    final List<String> records = new ArrayList<>();

    Map<Integer, Future<Outcome>> started = new HashMap<>();
    Map<String, String> results = new HashMap<>();
    byte[][] last = {};
    String lastResult = "";

    TdqProbe(String host, String user, char[] password, char[] password2, Map<String, String> given) throws Exception {
        this.host = host;
        this.user = user.toUpperCase();
        this.password = password;
        this.password2 = password2;
        this.given = given;
        if (given.containsKey("ports")) {
            String[] each = given.get("ports").split(",");
            for (int at = 0; at < each.length; at++) ports[at] = Integer.parseInt(each[at]);
        }
        main = connect(user, password);
    }

    AS400 connect(String name, char[] secret) throws Exception {
        AS400 system = new AS400(host, name, new String(secret));
        system.setGuiAvailable(false);
        if (given.containsKey("ports")) {
            system.setServicePort(AS400.SIGNON, ports[0]);
            system.setServicePort(AS400.DATAQUEUE, ports[1]);
            system.setServicePort(AS400.COMMAND, ports[2]);
        }
        return system;
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> given = new HashMap<>(Map.of("lib", "TDQPROBE", "lib2", "TDQPROBE2", "cases", "tdqprobe.txt",
            "out", "tdqprobe.answers"));
        for (int at = 2; at < args.length; at++) {
            int equals = args[at].indexOf('=');
            given.put(args[at].substring(0, equals), args[at].substring(equals + 1));
        }
        boolean second = !given.getOrDefault("user2", "").isEmpty();
        char[] password2 = second ? secret("TDQ_PASSWORD2", given.get("user2")) : null;
        int code = new TdqProbe(args[0], args[1], secret("TDQ_PASSWORD", args[1]), password2, given).run();
        System.exit(code);
    }

    static char[] secret(String variable, String user) {
        String found = System.getenv(variable);
        return found != null ? found.toCharArray() : System.console().readPassword("Password of %s: ", user);
    }

    // -- the run ------------------------------------------------------------------------------------------------------

    int run() throws Exception {
        boolean keep = given.containsKey("keep");
        for (String each : new String[] {"lib", "lib2"}) {
            if (each.equals("lib") && keep) continue;
            String found = command(main, "CRTLIB LIB(" + given.get(each) + ") AUT(*USE)");
            if (!found.equals("ok")) {
                System.err.println("CRTLIB LIB(" + given.get(each) + ") ended with " + found);
                return 1;
            }
            if (each.equals("lib2")) command(main, "DLTLIB LIB(" + given.get(each) + ")");
        }
        try {
            List<List<String>> cases = read(Files.readAllLines(Paths.get(given.get("cases")), StandardCharsets.UTF_8));
            List<String> only = given.containsKey("rules") ? Arrays.asList(given.get("rules").split(",")) : null;
            for (List<String> each : cases) {
                List<String> head = Arrays.asList(each.get(0).split(" "));
                if (only != null && !only.contains(head.get(1))) continue;
                if (head.contains("slow") && given.getOrDefault("without", "").equals("slow")) continue;
                runCase(head.get(1), each.subList(1, each.size()));
            }
        } finally {
            if (!keep) command(main, "DLTLIB LIB(" + given.get("lib") + ")");
            threads.shutdownNow();
        }
        write();
        main.disconnectAllServices();
        System.out.println(records.size() + " observations are in " + given.get("out"));
        return 0;
    }

    static List<List<String>> read(List<String> lines) {
        List<List<String>> cases = new ArrayList<>();
        for (String line : lines) {
            String text = line.trim();
            if (text.isEmpty() || text.startsWith("#") || text.startsWith("untried ")) continue;
            if (text.startsWith("case ")) cases.add(new ArrayList<>());
            cases.get(cases.size() - 1).add(text);
        }
        return cases;
    }

    void runCase(String rule, List<String> lines) throws Exception {
        started = new HashMap<>();
        results = new HashMap<>();
        try {
            for (String line : lines) {
                if (!line.startsWith("end ")) step(rule, line);
            }
        } catch (Left left) {
            record(rule, "LEFT-OUT", "REASON", left.getMessage());
        } catch (Exception error) {
            record(rule, "LEFT-OUT", "REASON", error.getClass().getSimpleName() + ": " + error.getMessage());
        } finally {
            for (Future<Outcome> each : started.values()) {
                try {
                    each.get(60, TimeUnit.SECONDS);
                } catch (ExecutionException | TimeoutException error) {
                    System.err.println(rule + ": a step in another job did not end: " + error);
                }
            }
            for (String line : lines) {
                if (line.startsWith("end ")) last(line.substring(4));
            }
        }
    }

    void last(String text) {
        try {
            step("", text);
        } catch (Exception error) {
            // Whatever was not created cannot be removed.
        }
    }

    void record(String rule, String step, String field, String value) {
        String text = value == null ? "" : value.replaceAll("[^ -~]", ".");
        records.add(String.format("%-33s%-9s%-17s%s", rule, step, field, text.length() > 190 ? text.substring(0, 190) : text));
    }

    void write() throws Exception {
        try (PrintWriter out = new PrintWriter(given.get("out"), "US-ASCII")) {
            out.print("TDQPROBE 1 IBMI " + main.getVersion() + "." + main.getRelease() + " #@$\n");
            for (String each : records) out.print(each.stripTrailing() + "\n");
            out.print("*END " + records.size() + "\n");
        }
    }

    // -- the steps ----------------------------------------------------------------------------------------------------

    String filled(String text) {
        for (String name : new String[] {"LOCATION", "USER2", "LIB2", "LIB", "JOB"}) {
            text = text.replace("&" + name, given.getOrDefault(name.toLowerCase(), ""));
        }
        return text;
    }

    void step(String rule, String line) throws Exception {
        String label = "";
        int equals = line.indexOf(" = ");
        if (equals > 0 && line.indexOf(' ') == equals) {
            label = line.substring(0, equals);
            line = line.substring(equals + 3);
        }
        AS400 system = main;
        boolean waits = line.startsWith("start ");
        int number = 0;
        if (waits || line.startsWith("other ")) {
            number = Integer.parseInt(line.split(" ")[1]);
            system = other(number);
            line = line.substring(line.indexOf(' ', line.indexOf(' ') + 1) + 1);
        }
        String[] words = filled(line).split(" +");
        if (words[0].equals("given") || words[0].equals("need")) {
            check(words);
            return;
        }
        if (waits) {
            start(number, system, words, filled(line));
            return;
        }
        Outcome outcome = outcome(system, words, filled(line));
        if (outcome.storage.length > 0) {
            last = outcome.storage;
            lastResult = outcome.result;
        }
        if (!label.isEmpty()) {
            results.put(label, outcome.result);
            if (!label.startsWith(".")) observe(rule, label.toUpperCase(), words[0], outcome.result);
        } else if ((words[0].equals("cmd") || words[0].equals("call")) && !outcome.result.equals("ok")) {
            throw new Left(words[1] + " ended with " + outcome.result);
        }
    }

    /** Records the result of a step: a value, or message ids, each as an observation of its own. */
    void observe(String rule, String step, String kind, String value) {
        String messages = value;
        if (FIELDS.containsKey(kind)) {
            int slash = value.indexOf('/');
            record(rule, step, FIELDS.get(kind), slash < 0 ? value : value.substring(0, slash));
            if (slash < 0) return;
            messages = value.substring(slash + 1);
        }
        String[] ids = messages.split(" ");
        for (int at = 0; at < ids.length; at++) record(rule, step, at == 0 ? "MESSAGE" : "MESSAGE-" + (at + 1), ids[at]);
    }

    AS400 other(int number) throws Exception {
        if (!others.containsKey(number)) {
            boolean second = password2 != null;
            others.put(number, connect(second ? given.get("user2") : user, second ? password2 : password));
        }
        return others.get(number);
    }

    void start(int number, AS400 system, String[] words, String text) throws Exception {
        system.connectService(AS400.COMMAND);
        started.put(number, threads.submit(() -> outcome(system, words, text)));
        Thread.sleep(Integer.parseInt(given.getOrDefault("pause", "1000"))); // the job must wait before the next step; nothing shows that it does
    }

    void check(String[] words) throws Left {
        boolean isGiven = words[0].equals("given");
        String found = isGiven ? given.getOrDefault(words[1].toLowerCase(), "") : results.get(words[1]);
        if (isGiven ? found.isEmpty() : !found.equals(words[2])) {
            throw new Left(String.join(" ", Arrays.copyOfRange(words, isGiven ? 2 : 3, words.length)));
        }
    }

    Outcome outcome(AS400 system, String[] words, String text) throws Exception {
        switch (words[0]) {
            case "cmd": return new Outcome(command(system, text.substring(4)));
            case "call": return call(system, words);
            case "fill": return fill(system, words);
            case "finish": return started.get(Integer.parseInt(words[1])).get(60, TimeUnit.SECONDS);
            case "same": return new Outcome(results.get(words[1]).equals(results.get(words[2])) ? "yes" : "no");
            case "journal": return new Outcome(journal(words[1]));
            case "entries": return new Outcome(entries(words[1], words[2]));
            case "queue": return new Outcome(queue(words));
            case "frame": return new Outcome(frame(words, false));
            case "signed": return new Outcome(frame(words, true));
            case "silence": return new Outcome(silence());
            default: return new Outcome(look(words));
        }
    }

    String look(String[] words) {
        byte[] storage = last[Integer.parseInt(words[1]) - 1];
        if (words[0].equals("code")) {
            if (!lastResult.equals("ok")) return "escape/" + lastResult;
            return integer(storage, 4) == 0 ? "none" : "code/" + new String(storage, 8, 7, EBCDIC).trim();
        }
        int at = Integer.parseInt(words[2]);
        if (words[0].equals("number")) return String.valueOf(integer(storage, at));
        int length = Integer.parseInt(words[3]);
        return words[0].equals("text") ? new String(storage, at, length, EBCDIC).trim() : hex(storage, at, length);
    }

    // -- commands and programs ------------------------------------------------------------------------------------------

    static String command(AS400 system, String text) throws Exception {
        CommandCall call = new CommandCall(system);
        return call.run(text) ? "ok" : ids(call.getMessageList());
    }

    static String ids(AS400Message[] messages) {
        StringBuilder ids = new StringBuilder();
        for (AS400Message each : messages) {
            boolean counts = each.getType() != AS400Message.COMPLETION && each.getType() != AS400Message.INFORMATIONAL;
            if (counts && !each.getID().isEmpty()) ids.append(' ').append(each.getID());
        }
        return ids.length() == 0 ? "failed" : ids.substring(1);
    }

    static Outcome call(AS400 system, String[] words) throws Exception {
        byte[][] storage = new byte[words.length - 2][];
        ProgramParameter[] parameters = new ProgramParameter[storage.length];
        for (int at = 0; at < storage.length; at++) {
            String word = words[at + 2];
            storage[at] = bytes(word);
            if (storage[at] == null) {
                parameters[at] = new ProgramParameter();
                parameters[at].setNullParameter(true);
            } else if (word.startsWith("o:")) {
                parameters[at] = new ProgramParameter(storage[at].length);
            } else if (word.startsWith("i:") || word.startsWith("e:")) {
                parameters[at] = new ProgramParameter(storage[at], storage[at].length);
            } else {
                parameters[at] = new ProgramParameter(storage[at]);
            }
        }
        String[] place = words[1].contains("/") ? words[1].split("/") : new String[] {"QSYS", words[1]};
        ProgramCall call = new ProgramCall(system, QSYSObjectPathName.toPath(place[0], place[1], "PGM"), parameters);
        boolean good;
        try {
            good = call.run();
        } catch (ObjectDoesNotExistException error) {
            return new Outcome("MCH3401", storage);
        }
        for (int at = 0; at < storage.length; at++) {
            byte[] output = parameters[at].getOutputData();
            if (output != null) storage[at] = output;
        }
        return new Outcome(good ? "ok" : ids(call.getMessageList()), storage);
    }

    static Outcome fill(AS400 system, String[] words) throws Exception {
        Outcome outcome = new Outcome("ok");
        for (int times = Integer.parseInt(words[1]); times > 0 && outcome.result.equals("ok"); times--) {
            outcome = call(system, Arrays.copyOfRange(words, 2, words.length));
        }
        return new Outcome(outcome.result);
    }

    /** The bytes of a parameter; null for a null pointer. */
    static byte[] bytes(String word) {
        if (word.equals("null")) return null;
        String kind = word.substring(0, word.indexOf(':'));
        String value = word.substring(word.indexOf(':') + 1);
        switch (kind) {
            case "o": return new byte[Integer.parseInt(value)];
            case "e":
                byte[] code = new byte[Integer.parseInt(value)];
                System.arraycopy(binary(code.length), 0, code, 0, 4);
                return code;
            case "i": case "x": return unhex(value);
            case "t": return value.getBytes(EBCDIC);
            case "b4": return binary(Integer.parseInt(value));
            case "q":
                String[] parts = value.split("/");
                return (padded(parts[0], 10) + padded(parts[1], 10)).getBytes(EBCDIC);
            default:
                int length = Integer.parseInt(kind.substring(1));
                return kind.startsWith("p") ? packed(Integer.parseInt(value), length) : padded(value, length).getBytes(EBCDIC);
        }
    }

    static String padded(String text, int length) {
        return String.format("%-" + length + "s", text);
    }

    static byte[] packed(int value, int digits) {
        String text = String.format("%0" + (digits / 2 * 2 + 1) + "d", Math.abs(value)) + (value < 0 ? "D" : "F");
        return unhex(text);
    }

    static byte[] binary(int value) {
        return new byte[] {(byte) (value >> 24), (byte) (value >> 16), (byte) (value >> 8), (byte) value};
    }

    static int integer(byte[] data, int at) {
        return (data[at] & 255) << 24 | (data[at + 1] & 255) << 16 | (data[at + 2] & 255) << 8 | data[at + 3] & 255;
    }

    static byte[] unhex(String text) {
        byte[] data = new byte[text.length() / 2];
        for (int at = 0; at < data.length; at++) data[at] = (byte) Integer.parseInt(text.substring(2 * at, 2 * at + 2), 16);
        return data;
    }

    static String hex(byte[] data, int at, int length) {
        StringBuilder text = new StringBuilder();
        for (byte each : Arrays.copyOfRange(data, at, at + length)) text.append(String.format("%02X", each));
        return text.toString();
    }

    // -- SQL services ---------------------------------------------------------------------------------------------------

    String journal(String name) throws Exception {
        return query("SELECT JOURNAL_ENTRY_TYPE FROM TABLE(QSYS2.DISPLAY_JOURNAL('" + given.get("lib") + "', '" + name
            + "')) X WHERE JOURNAL_CODE = 'Q' AND JOURNAL_ENTRY_TYPE IN ('QS', 'QR', 'QC', 'QK', 'QL', 'QJ')");
    }

    String entries(String name, String selection) throws Exception {
        return query("SELECT COUNT(*) FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES(DATA_QUEUE => '" + name
            + "', DATA_QUEUE_LIBRARY => '" + given.get("lib") + "', SELECTION_TYPE => '" + selection + "')) X");
    }

    String query(String text) throws Exception {
        Connection connection;
        try {
            connection = new AS400JDBCDriver().connect(main);
        } catch (SQLException error) {
            throw new Left("There is no database server: " + error.getMessage());
        }
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(text)) {
            StringBuilder values = new StringBuilder();
            while (rows.next()) values.append(' ').append(rows.getString(1).trim());
            return values.length() == 0 ? "none" : values.substring(1);
        } catch (SQLException error) {
            Matcher found = MESSAGE_ID.matcher(String.valueOf(error.getMessage()));
            return found.find() ? found.group() : "SQLSTATE " + error.getSQLState();
        } finally {
            connection.close();
        }
    }

    // -- the host servers -----------------------------------------------------------------------------------------------

    String queue(String[] words) throws Exception {
        String path = QSYSObjectPathName.toPath(given.get("lib"), words[2], "DTAQ");
        try {
            if (words[1].equals("peek")) return new DataQueue(main, path).peek() == null ? "none" : "ok";
            new KeyedDataQueue(main, path).clear(words[3].equals("-") ? new byte[0] : unhex(words[3]));
            return "ok";
        } catch (AS400Exception error) {
            return error.getAS400Message().getID();
        } catch (Exception error) {
            Matcher found = MESSAGE_ID.matcher(String.valueOf(error.getMessage()));
            return found.find() ? found.group() : error.getClass().getSimpleName();
        }
    }

    String frame(String[] words, boolean signed) throws Exception {
        int service = Arrays.asList(SERVICES).indexOf(words[1]);
        try (Socket socket = new Socket(host, ports[service])) {
            socket.setSoTimeout(30000);
            if (signed) signOn(socket, SERVERS[service]);
            byte[] body = words[4].equals("-") ? new byte[0] : unhex(words[4]);
            byte[] reply = ask(socket, SERVERS[service], 0, Integer.parseInt(words[3], 16), Integer.parseInt(words[2], 16), body);
            if (reply == null) return "closed";
            String code = hex(reply, 20, signed ? 2 : 4);
            boolean told = code.equals("F001") && reply.length > 35 && (reply[26] & 255) == 0x50 && reply[27] == 3;
            return told ? code + "/" + new String(reply, 28, 7, EBCDIC) : code;
        }
    }

    /** The reply to a request, or null when the connection is closed instead. */
    static byte[] ask(Socket socket, int server, int attributes, int template, int request, byte[] body) throws Exception {
        ByteArrayOutputStream sent = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(sent);
        out.writeInt(20 + body.length);
        out.writeShort(attributes);
        out.writeShort(server);
        out.writeInt(0);
        out.writeInt(1);
        out.writeShort(template);
        out.writeShort(request);
        out.write(body);
        socket.getOutputStream().write(sent.toByteArray());
        DataInputStream in = new DataInputStream(socket.getInputStream());
        try {
            int length = in.readInt();
            byte[] reply = new byte[length];
            System.arraycopy(binary(length), 0, reply, 0, 4);
            in.readFully(reply, 4, length - 4);
            return reply;
        } catch (EOFException error) {
            return null;
        }
    }

    void signOn(Socket socket, int server) throws Exception {
        byte[] seed = unhex("0000018B00000001");
        byte[] seeds = ask(socket, server, 0x0300, 8, 0x7001, seed);
        int level = seeds[4] << 8 | seeds[5];
        if (level < 2) throw new Left("The password level of the system is " + level + ".");
        byte[] serverSeed = Arrays.copyOfRange(seeds, 24, 32);
        byte[] name = padded(user, 10).getBytes(StandardCharsets.UTF_16BE);
        MessageDigest digest = MessageDigest.getInstance(level == 4 ? "SHA-512" : "SHA-1");
        for (byte[] each : new byte[][] {token(level), serverSeed, seed, name, {0, 0, 0, 0, 0, 0, 0, 1}}) digest.update(each);
        byte[] substitute = digest.digest();
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(body);
        out.writeByte(level == 4 ? 7 : 3);
        out.writeByte(1);
        out.writeInt(6 + substitute.length);
        out.writeShort(0x1105);
        out.write(substitute);
        out.writeInt(16);
        out.writeShort(0x1104);
        out.write(padded(user, 10).getBytes(EBCDIC));
        byte[] reply = ask(socket, server, 0x0200, 2, 0x7002, body.toByteArray());
        if (integer(reply, 20) != 0) throw new Left("The server refuses the sign-on: " + hex(reply, 20, 4) + ".");
    }

    byte[] token(int level) throws Exception {
        String word = new String(password);
        if (level < 4) {
            return MessageDigest.getInstance("SHA-1").digest((padded(user, 10) + word.stripTrailing()).getBytes(StandardCharsets.UTF_16BE));
        }
        String end = padded(word.substring(Math.max(0, word.length() - 4)), 4);
        byte[] salt = MessageDigest.getInstance("SHA-256").digest((padded(user, 10) + end).getBytes(StandardCharsets.UTF_16BE));
        javax.crypto.spec.PBEKeySpec key = new javax.crypto.spec.PBEKeySpec(password, salt, 10022, 512);
        return javax.crypto.SecretKeyFactory.getInstance("PBKDF2WithHmacSHA512").generateSecret(key).getEncoded();
    }

    String silence() throws Exception {
        try (Socket socket = new Socket(host, ports[3])) {
            socket.setSoTimeout(180000);
            long before = System.nanoTime();
            int read;
            try {
                read = socket.getInputStream().read();
            } catch (java.net.SocketTimeoutException error) {
                return "more than 180";
            }
            return read == -1 ? String.valueOf(Math.round((System.nanoTime() - before) / 1e9)) : "data";
        }
    }
}
