import java.util.List;
import tdq.ApiClient;
import tdq.ApiException;
import tdq.api.QueuesApi;
import tdq.api.RecordsApi;
import tdq.model.OneOrMoreRecords;
import tdq.model.Record;
import tdq.model.Records;
import tdq.model.TdqueueOptions;

/** Writes two records, looks at them and at the queue, and asks for a queue that is not there. */
public class Client {
    public static void main(String[] given) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(given[0]);
        client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + given[1]));
        RecordsApi records = new RecordsApi(client);
        QueuesApi queues = new QueuesApi(client);

        Records several = new Records();
        several.add(new Record().text("10.00"));
        several.add(new Record().hex("F2"));
        System.out.println(records.writeRecords("TDQREGN", "PAYQ", new OneOrMoreRecords(several)).getRecords());
        List<String> peeked = records.peekRecords("TDQREGN", "PAYQ", 0L, 10, "hex", false).getRecords();
        System.out.println(peeked);
        TdqueueOptions state = queues.inquireTdqueue("TDQREGN", "PAYQ", null);
        System.out.println(state.getNUMITEMS() + " " + state.getTYPE().getCvda());
        try {
            queues.inquireTdqueue("TDQREGN", "NONE", null);
        } catch (ApiException refused) {
            System.out.println(refused.getCode() + " " + refused.getResponseBody().contains("\"condition\":\"QIDERR\""));
        }
    }
}
