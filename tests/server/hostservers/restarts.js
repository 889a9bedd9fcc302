// Many jobs of node-jt400 that send or receive over TLS, whatever becomes of the server: mode, jobs, messages of each, ports.
const java = require('java');
java.options.push(`-Djavax.net.ssl.trustStore=${process.env.TRUST}`, '-Djavax.net.ssl.trustStorePassword=trusting');
const { pool } = require('node-jt400');
const [jobs, count, ...ports] = process.argv.slice(3).map(Number);
const sends = process.argv[2] === 'send';
const say = (text) => process.stdout.write(`${text}\n`);
const user = { host: 'localhost', user: 'ANNA', password: 'SECRET1PW', secure: 'true' };
async function run(first) {
  const queue = pool(user).createKeyedDataQ({ name: 'KEYED' });
  for (let at = 0; at < count; at++) {
    try {
      if (sends) {
        say(`asked ${first + at}`);
        await queue.write('abc', `${first + at}`);
        say(`sent ${first + at}`);
      } else {
        if (at === 0) say('waiting');
        say(`received ${await queue.read({ key: 'abc', wait: 3 })}`);
      }
    } catch (error) {
      const text = `${error.message}`.split('\n')[1];
      if (text.includes('read timeout')) return;
      say(`broken ${text}`);
      if (!sends || text.includes('cannot establish')) at--;  // nothing was sent: once more
      await new Promise((done) => setTimeout(done, 200));
    }
  }
}
const system = java.newInstanceSync('com.ibm.as400.access.SecureAS400', 'localhost', 'ANNA', 'SECRET1PW');
[7, 3, 2, 4].forEach((service, at) => system.setServicePortSync(service, ports[at]));
Promise.all([...Array(jobs).keys()].map((job) => run(job * count))).then(() => process.exit(0));
