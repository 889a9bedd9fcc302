import com.ibm.as400.access.*;
import java.sql.Connection;
import java.util.concurrent.*;

/** Many jobs of a pool that send or receive, whatever becomes of the server: mode, jobs, messages of each, ports. */
public class Restarts {
    static synchronized void say(String text) { System.out.println(text); System.out.flush(); }

    public static void main(String[] args) throws Exception {
        boolean sends = args[0].equals("send");
        int jobs = Integer.parseInt(args[1]), count = Integer.parseInt(args[2]);
        AS400 system = new SecureAS400("localhost", "ANNA", "SECRET1PW");
        int[] services = {AS400.SIGNON, AS400.DATAQUEUE, AS400.COMMAND, AS400.DATABASE};
        for (int at = 0; at < 4; at++) system.setServicePort(services[at], Integer.parseInt(args[3 + at]));
        AS400JDBCConnectionPoolDataSource source = new AS400JDBCConnectionPoolDataSource("localhost", "ANNA", "SECRET1PW");
        source.setPrompt(false);
        source.setSecure(true);
        AS400JDBCConnectionPool pool = new AS400JDBCConnectionPool(source);
        pool.setPretestConnections(true);
        ExecutorService all = Executors.newFixedThreadPool(jobs);
        for (int job = 0; job < jobs; job++) {
            int first = job * count;
            all.submit(() -> {
                for (int at = 0; at < count; at++) {
                    boolean asked = false;
                    try (Connection one = pool.getConnection()) {
                        KeyedDataQueue queue = new KeyedDataQueue(
                            ((AS400JDBCConnectionHandle) one).getSystem(), "/QSYS.LIB/QGPL.LIB/KEYED.DTAQ");
                        if (sends) {
                            asked = true;
                            say("asked " + (first + at));
                            queue.write("abc", "" + (first + at));
                            say("sent " + (first + at));
                        } else {
                            if (at == 0) say("waiting");
                            KeyedDataQueueEntry entry = queue.read("abc", 3, "EQ");
                            if (entry == null) break;
                            say("received " + entry.getString());
                        }
                    } catch (Exception error) {
                        say("broken " + error.getMessage());
                        if (!asked) at--;                       // nothing was sent: once more
                        Thread.sleep(200);
                    }
                }
                return null;
            });
        }
        all.shutdown();
        all.awaitTermination(1, TimeUnit.HOURS);
        System.exit(0);
    }
}
