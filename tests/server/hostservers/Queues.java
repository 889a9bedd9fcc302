import com.ibm.as400.access.*;
import java.io.*;
import java.util.concurrent.*;

/** Every constructor and option of the data queue classes, and what programs do with them beside reading and writing. */
public class Queues {
    static AS400 system(String[] args) throws Exception {
        AS400 system = new AS400("127.0.0.1", "ANNA", "Secret1pw");
        Clients.ports(system, args, 0);
        return system;
    }

    static String path(String name) {
        return QSYSObjectPathName.toPath("QGPL", name, "DTAQ");
    }

    public static void main(String[] args) throws Exception {
        AS400 system = system(args);

        Clients.say("bean", () -> {
            DataQueue bean = new DataQueue();
            bean.setSystem(system);
            bean.setPath(path("BEAN"));
            StringBuilder seen = new StringBuilder();
            bean.addObjectListener(new ObjectListener() {
                public void objectCreated(ObjectEvent event) { seen.append("created "); }
                public void objectDeleted(ObjectEvent event) { seen.append("deleted "); }
                public void objectClosed(ObjectEvent event) { }
                public void objectOpened(ObjectEvent event) { }
            });
            bean.addDataQueueListener(new DataQueueListener() {
                public void cleared(DataQueueEvent event) { seen.append("cleared "); }
                public void peeked(DataQueueEvent event) { seen.append("peeked "); }
                public void read(DataQueueEvent event) { seen.append("read "); }
                public void written(DataQueueEvent event) { seen.append("written "); }
            });
            bean.create(10);
            bean.write("x");
            bean.peek();
            bean.read();
            bean.clear();
            bean.delete();
            return seen + bean.getName();
        });
        Clients.say("no system", () -> new DataQueue().read());
        Clients.say("no such type", () -> new DataQueue(system, "/QSYS.LIB/QGPL.LIB/X.USRSPC").read());
        Clients.say("library list", () -> {
            new DataQueue(system, path("LISTED")).create(10);
            DataQueue listed = new DataQueue(system, "/QSYS.LIB/%LIBL%.LIB/LISTED.DTAQ");
            DataQueue current = new DataQueue(system, "/QSYS.LIB/%CURLIB%.LIB/LISTED.DTAQ");
            listed.write("by list");
            return current.read().getString() + " " + listed.exists() + " " + new DataQueue(system, "/QSYS.LIB/%LIBL%.LIB/NONE.DTAQ").exists();
        });
        for (String authority : new String[] {"*ALL", "*CHANGE", "*EXCLUDE", "*USE", "*LIBCRTAUT"}) {
            Clients.say("authority " + authority, () -> {
                DataQueue made = new DataQueue(system, path("AUT"));
                made.create(10, authority, false, true, false, "");
                AS400 other = new AS400("127.0.0.1", "BERT", "Secret1pw");
                Clients.ports(other, args, 0);
                DataQueue there = new DataQueue(other, made.getPath());
                StringBuilder seen = new StringBuilder();
                for (int step = 0; step < 3; step++) {
                    try {
                        if (step == 0) there.write("x");
                        else if (step == 1) there.read();
                        else there.clear();
                        seen.append("yes ");
                    } catch (AS400SecurityException error) {
                        seen.append(error.getReturnCode() + " ");
                    }
                }
                other.disconnectAllServices();
                made.delete();
                return seen;
            });
        }
        Clients.say("attributes", () -> {
            StringBuilder seen = new StringBuilder();
            for (boolean[] each : new boolean[][] {{true, true, true}, {true, false, false}, {false, true, false}, {false, false, true}}) {
                DataQueue made = new DataQueue(system, path("ATTR"));
                made.create(64512, "*ALL", each[0], each[1], each[2], "Text of a queue");
                DataQueue found = new DataQueue(system, made.getPath());
                found.refreshAttributes();
                seen.append(found.getSaveSenderInformation() == each[0]).append(found.isFIFO() == each[1]).append(found.getForceToAuxiliaryStorage() == each[2])
                    .append(found.getMaxEntryLength()).append(found.getDescription().trim()).append(' ');
                made.delete();
            }
            return seen;
        });
        Clients.say("keyed attributes", () -> {
            KeyedDataQueue made = new KeyedDataQueue(system, path("KATTR"));
            made.create(7, 33, "*USE", true, true, "Keys of seven");
            KeyedDataQueue found = new KeyedDataQueue(system, made.getPath());
            boolean wrong = false;
            try {
                new DataQueue(system, made.getPath()).getMaxEntryLength();
            } catch (IllegalObjectTypeException error) {
                wrong = true;
            }
            return found.getKeyLength() + " " + found.getMaxEntryLength() + " " + found.getSaveSenderInformation() + " " + wrong;
        });
        Clients.say("bytes and strings", () -> {
            DataQueue queue = new DataQueue(system, path("LISTED"));
            queue.write(new byte[] {1, 2, 3});
            queue.write("text");
            DataQueueEntry first = queue.peek(0);
            DataQueueEntry same = queue.read(0);
            return java.util.Arrays.equals(first.getData(), same.getData()) + " " + queue.read(-1).getString() + " " + (queue.peek(1) == null) + " " + (queue.peek() == null);
        });
        Clients.say("lengths", () -> {
            DataQueue queue = new DataQueue(system, path("LISTED"));
            StringBuilder seen = new StringBuilder();
            for (int length : new int[] {1, 10, 11}) {
                try {
                    queue.write(new byte[length]);
                    seen.append(queue.read().getData().length + " ");
                } catch (AS400Exception error) {
                    seen.append(error.getAS400Message().getID() + " ");
                }
            }
            try {
                queue.write(new byte[0]);
                DataQueueEntry empty = queue.read();
                seen.append(empty == null ? "nothing" : empty.getData() == null ? "no data" : "" + empty.getData().length);
            } catch (Exception error) {
                seen.append(error.getMessage());
            }
            return seen;
        });
        Clients.say("wait of a negative", () -> new DataQueue(system, path("LISTED")).read(-2));
        Clients.say("every keyed read", () -> {
            KeyedDataQueue keyed = new KeyedDataQueue(system, path("KEYS"));
            keyed.create(2, 20, "*ALL", true, true, "All of them");
            for (int each = 0; each < 8; each++) {
                keyed.write("AB", "s" + each);
                keyed.write("AC".getBytes("cp037"), ("b" + each).getBytes("cp037"));
            }
            byte[] key = "AB".getBytes("cp037");
            String seen = keyed.peek(key).getString() + keyed.peek("AC").getString() + keyed.peek(key, 0, "GT").getString() + keyed.peek("AC", 0, "LT").getString()
                + keyed.read(key).getString() + keyed.read("AC").getString() + keyed.read(key, 0, "EQ").getString() + keyed.read("AB", 0, "NE").getString()
                + keyed.read("AB", 5, "GE").getString() + keyed.read("AC", -1, "LE").getString();
            keyed.clear(key);
            seen += keyed.peek(key) == null;
            keyed.clear("AC");
            seen += keyed.peek("AC") == null;
            keyed.delete();
            return seen;
        });
        Clients.say("key of a string too long", () -> {
            KeyedDataQueue keyed = new KeyedDataQueue(system, path("KATTR"));
            keyed.write("ABCDEFGH", "x");
            return "written";
        });
        Clients.say("sender", () -> {
            KeyedDataQueue keyed = new KeyedDataQueue(system, path("KATTR"));
            keyed.write("K", "x");
            KeyedDataQueueEntry entry = keyed.read("K");
            return entry.getSenderInformation().length() + " " + entry.getSenderInformation().substring(0, 20) + entry.getSenderInformation().substring(26).trim()
                + " " + entry.getKey().length + " " + entry.getKey()[1];
        });
        Clients.say("serialized", () -> {
            ByteArrayOutputStream kept = new ByteArrayOutputStream();
            new ObjectOutputStream(kept).writeObject(new DataQueue(system, path("LISTED")));
            DataQueue back = (DataQueue) new ObjectInputStream(new ByteArrayInputStream(kept.toByteArray())).readObject();
            back.setSystem(system);
            back.write("again");
            return back.read().getString();
        });
        Clients.say("many threads, one system", () -> {
            DataQueue queue = new DataQueue(system, path("LISTED"));
            ExecutorService threads = Executors.newFixedThreadPool(8);
            ConcurrentSkipListSet<String> seen = new ConcurrentSkipListSet<>();
            for (int each = 0; each < 200; each++) {
                int one = each;
                threads.submit(() -> { queue.write("n" + one); return seen.add(queue.read(-1).getString()); });
            }
            threads.shutdown();
            return threads.awaitTermination(120, TimeUnit.SECONDS) + " " + seen.size() + " " + queue.read();
        });
        Clients.say("many systems wait", () -> {
            ExecutorService threads = Executors.newFixedThreadPool(6);
            java.util.List<Future<String>> waiting = new java.util.ArrayList<>();
            for (int each = 0; each < 6; each++) {
                waiting.add(threads.submit(() -> {
                    AS400 own = system(args);
                    String found = new DataQueue(own, path("LISTED")).read(-1).getString();
                    own.disconnectService(AS400.DATAQUEUE);
                    return found + own.isConnected(AS400.DATAQUEUE);
                }));
            }
            DataQueue queue = new DataQueue(system, path("LISTED"));
            for (int each = 0; each < 6; each++) queue.write("w" + each);
            ConcurrentSkipListSet<String> seen = new ConcurrentSkipListSet<>();
            for (Future<String> each : waiting) seen.add(each.get());
            threads.shutdown();
            return seen;
        });
        Clients.say("a socket's time-out", () -> {
            SocketProperties properties = new SocketProperties();
            properties.setSoTimeout(300);
            properties.setTcpNoDelay(true);
            properties.setKeepAlive(true);
            AS400 own = new AS400("127.0.0.1", "ANNA", "Secret1pw");
            own.setSocketProperties(properties);
            Clients.ports(own, args, 0);
            DataQueue queue = new DataQueue(own, path("LISTED"));
            String first;
            try {
                first = String.valueOf(queue.read(-1));
            } catch (IOException error) {
                first = "IOException";
            }
            own.disconnectAllServices();
            new DataQueue(system, path("LISTED")).write("kept");
            return first + " " + new DataQueue(system, path("LISTED")).read(60).getString();
        });
        Clients.say("disconnected and used again", () -> {
            system.disconnectService(AS400.DATAQUEUE);
            boolean before = system.isConnected(AS400.DATAQUEUE);
            system.connectService(AS400.DATAQUEUE);
            new DataQueue(system, path("LISTED")).write("back");
            system.disconnectAllServices();
            return before + " " + new DataQueue(system, path("LISTED")).read().getString() + " " + system.isConnected();
        });
        Clients.say("the record of a format", () -> {
            RecordFormat format = new RecordFormat("LINE");
            format.addFieldDescription(new CharacterFieldDescription(new AS400Text(4, 37, system), "ITEM"));
            format.addFieldDescription(new PackedDecimalFieldDescription(new AS400PackedDecimal(5, 2), "PRICE"));
            format.addFieldDescription(new BinaryFieldDescription(new AS400Bin2(), "COUNT"));
            com.ibm.as400.access.Record record = format.getNewRecord();
            record.setField("ITEM", "lamp");
            record.setField("PRICE", new java.math.BigDecimal("-9.95"));
            record.setField("COUNT", Short.valueOf((short) 12));
            DataQueue queue = new DataQueue(system, path("LISTED"));
            queue.write(record.getContents());
            com.ibm.as400.access.Record back = format.getNewRecord(queue.read().getData());
            return back.getField("ITEM") + " " + back.getField("PRICE") + " " + back.getField("COUNT");
        });
        Clients.say("every data type", () -> {
            AS400DataType[] types = {new AS400Bin1(), new AS400Bin8(), new AS400UnsignedBin1(), new AS400UnsignedBin2(), new AS400UnsignedBin4(), new AS400UnsignedBin8(),
                new AS400Float4(), new AS400DecFloat(16), new AS400Date(), new AS400Time(), new AS400Timestamp()};
            Object[] values = {Byte.valueOf((byte) -1), Long.valueOf(-5), Short.valueOf((short) 200), Integer.valueOf(60000), Long.valueOf(4000000000L),
                new java.math.BigInteger("18446744073709551615"), Float.valueOf(1.5f), new java.math.BigDecimal("1.25"),
                java.sql.Date.valueOf("2026-11-22"), java.sql.Time.valueOf("21:42:33"), java.sql.Timestamp.valueOf("2026-11-22 21:42:33.123456")};
            DataQueue wide = new DataQueue(system, path("WIDE"));
            wide.create(200);
            StringBuilder seen = new StringBuilder();
            for (int each = 0; each < types.length; each++) {
                wide.write(types[each].toBytes(values[each]));
                seen.append(types[each].toObject(wide.read().getData()).equals(values[each]) ? "" : each + " ");
            }
            return seen + "same";
        });
        Clients.say("deleted under a reader", () -> {
            AS400 own = system(args);
            DataQueue gone = new DataQueue(system, path("GONE"));
            gone.create(10);
            FutureTask<String> reader = new FutureTask<>(() -> {
                try {
                    return String.valueOf(new DataQueue(own, path("GONE")).read(-1));
                } catch (ObjectDoesNotExistException error) {
                    return "ObjectDoesNotExistException " + error.getReturnCode();
                }
            });
            new DataQueue(own, path("GONE")).peek();
            new Thread(reader).start();
            Thread.sleep(300);
            gone.delete();
            String seen = reader.get();
            own.disconnectAllServices();
            return seen;
        });
        system.disconnectAllServices();
    }
}
