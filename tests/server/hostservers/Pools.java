import com.ibm.as400.access.*;
import java.sql.*;

/** Pools of JDBC connections, and queues of the systems of their connections. */
public class Pools {
    interface Act { Object run() throws Exception; }

    static void say(String name, Act act) {
        String result;
        try {
            result = String.valueOf(act.run());
        } catch (SQLException error) {
            result = error.getSQLState() + " " + error.getErrorCode() + " " + error.getMessage();
        } catch (Exception error) {
            result = error.getClass().getSimpleName() + " " + error.getMessage();
        }
        System.out.println(name + ": " + result);
    }

    static void ports(AS400 system, String[] args, int first) throws Exception {
        int[] services = {AS400.SIGNON, AS400.DATAQUEUE, AS400.COMMAND, AS400.DATABASE};
        system.setGuiAvailable(false);
        for (int at = 0; at < 4; at++) system.setServicePort(services[at], Integer.parseInt(args[first + at]));
    }

    static AS400JDBCConnectionPoolDataSource source(String host, String password) throws Exception {
        AS400JDBCConnectionPoolDataSource source = new AS400JDBCConnectionPoolDataSource(host, "ANNA", password);
        source.setPrompt(false);
        return source;
    }

    static void pooled(String name, AS400JDBCConnectionPoolDataSource source) {
        AS400JDBCConnectionPool pool = new AS400JDBCConnectionPool(source);
        say(name, () -> {
            pool.fill(2);
            StringBuilder seen = new StringBuilder();
            for (int round = 0; round < 6; round++) {
                Connection one = pool.getConnection();
                AS400 system = ((AS400JDBCConnectionHandle) one).getSystem();
                KeyedDataQueue keyed = new KeyedDataQueue(system, "/QSYS.LIB/%LIBL%.LIB/KEYED.DTAQ");
                keyed.write("k0" + round, "round " + round);
                seen.append(keyed.read("k0" + round, 0, "EQ").getString()).append(", ");
                new DataQueue(system, "/QSYS.LIB/QGPL.LIB/FIFO.DTAQ").write("plain " + round);
                one.setSchema("OTHER" + round);
                seen.append(one.getSchema()).append("; ");
                one.close();
            }
            Connection again = pool.getConnection();
            seen.append(again.getSchema()).append(' ').append(again.isValid(5));
            again.close();
            return seen + " " + pool.getAvailableConnectionCount();
        });
        pool.close();
    }

    public static void main(String[] args) throws Exception {
        Class.forName("com.ibm.as400.access.AS400JDBCDriver");
        AS400 system = new AS400("127.0.0.1", "ANNA", "Secret1pw");
        ports(system, args, 0);
        new KeyedDataQueue(system, "/QSYS.LIB/QGPL.LIB/KEYED.DTAQ").create(3, 80);
        new DataQueue(system, "/QSYS.LIB/QGPL.LIB/FIFO.DTAQ").create(80);
        pooled("pool", source("127.0.0.1", "Secret1pw"));
        AS400JDBCConnectionPoolDataSource naming = source("127.0.0.1", "Secret1pw");
        naming.setNaming("system");
        pooled("pool with naming system", naming);
        ports(new SecureAS400("localhost", "ANNA", "Secret1pw"), args, 4);
        AS400JDBCConnectionPoolDataSource secure = source("localhost", "Secret1pw");
        secure.setSecure(true);
        pooled("pool over TLS", secure);

        String url = "jdbc:as400://127.0.0.1;prompt=false;user=ANNA;password=";
        say("wrong password", () -> DriverManager.getConnection(url + "nothing"));
        Connection plain = DriverManager.getConnection(url + "Secret1pw;libraries=APPLIB,QGPL");
        say("libraries", () -> plain.getSchema() + " " + plain.getWarnings());
        say("job", () -> ((AS400JDBCConnection) plain).getServerJobIdentifier().replaceAll("\\d+$", "NUMBER"));
        Connection twice = DriverManager.getConnection(url + "Secret1pw;libraries=*LIBL,NOWHERE");
        say("library that does not exist", () -> twice.getWarnings().getMessage());
        twice.close();
        Statement statement = plain.createStatement();
        for (String sql : new String[] {
            "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE('FIFO', 'QGPL')) X", "SELECT * FROM ORDERS",
            "INSERT INTO ORDERS VALUES(1)", "SELECT 1", "SELECT X'", "SET SCHEMA", "x".repeat(2000),
        }) {
            String shown = sql.length() < 90 ? sql : "long";
            say(shown, () -> statement.execute(sql));
        }
        say("two parameters", () -> plain.prepareStatement("SELECT X FROM T WHERE Y = ? AND Z = ?"));
        say("tables", () -> plain.getMetaData().getTables(null, "%", "%", null));
        say("product", () -> plain.getMetaData().getDatabaseProductVersion());
        say("SET SCHEMA", () -> statement.executeUpdate("SET CURRENT SCHEMA = APPLIB") + " " + plain.getSchema());
        say("CURRENT SCHEMA", () -> {
            ResultSet rows = statement.executeQuery("SELECT CURRENT SCHEMA AS WHERE_I_AM FROM SYSIBM.SYSDUMMY1");
            rows.next();
            String seen = rows.getMetaData().getColumnName(1) + " " + rows.getString(1) + " " + rows.next();
            rows.close();
            return seen;
        });
        say("transaction", () -> {
            plain.setAutoCommit(false);
            plain.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
            plain.commit();
            plain.rollback();
            plain.setAutoCommit(true);
            return plain.isValid(5);
        });
        say("too long a schema", () -> { plain.setSchema("Y".repeat(129)); return "set"; });
        plain.close();
        say("closed", () -> plain.isClosed());
        System.exit(0);
    }
}
