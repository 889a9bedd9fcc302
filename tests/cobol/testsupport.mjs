// The debug adapter with the client of VS Code's own tests: node testsupport.mjs PORT PROGRAM.cbl
import { DebugClient } from "@vscode/debugadapter-testsupport";

const [port, program] = process.argv.slice(2);
const client = new DebugClient("node", "unused", "tdq", undefined, true);
client.defaultTimeout = 60000;
await client.start(Number(port));
await Promise.all([
  client.configurationSequence(),
  client.launch({ stopOnEntry: true }),
  client.assertStoppedLocation("entry", { path: program, line: 7 }),
]);
const thread = (await client.threadsRequest()).body.threads[0].id;
await Promise.all([
  client.nextRequest({ threadId: thread }),
  client.assertStoppedLocation("step", { path: program, line: 8 }),
]);
const frame = (await client.stackTraceRequest({ threadId: thread })).body.stackFrames[0];
const scopes = (await client.scopesRequest({ frameId: frame.id })).body.scopes;
const variables = (await client.variablesRequest({ variablesReference: scopes[0].variablesReference })).body.variables;
console.log(scopes[0].name, variables.map((each) => `${each.name} = ${each.value} ${each.type}`).join("; "));
await Promise.all([client.continueRequest({ threadId: thread }), client.waitForEvent("terminated")]);
process.exit(0);
