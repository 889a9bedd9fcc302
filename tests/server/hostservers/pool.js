// Keyed queues of node-jt400 on a pooled connection, as its users write them; the ports are set by the bridge to Java.
const java = require('java');
const { pool, connect } = require('node-jt400');
const [signon, dataqueue, command, database] = process.argv.slice(2, 6).map(Number);
(async () => {
  const system = java.newInstanceSync('com.ibm.as400.access.AS400', '127.0.0.1', 'ANNA', 'Secret1pw');
  [[7, signon], [3, dataqueue], [2, command], [4, database]].forEach(([s, p]) => system.setServicePortSync(s, p));
  const made = java.newInstanceSync('com.ibm.as400.access.KeyedDataQueue', system, '/QSYS.LIB/QGPL.LIB/KEYED.DTAQ');
  made.createSync(3, 80);
  const jt = pool({ host: '127.0.0.1', user: 'ANNA', password: 'Secret1pw' });
  const q = jt.createKeyedDataQ({ name: 'KEYED' });
  await q.write('k01', 'one');
  console.log('read:', await q.read('k01'));
  const waiting = q.read({ key: 'k02', wait: 10 });
  await q.write('k02', 'woken');
  console.log('waited:', await waiting);
  const asked = q.read({ key: 'req', wait: 10, writeKeyLength: 3 });
  await q.write('req', 'RPLquestion');
  const request = await asked;
  console.log('request:', request.data);
  await request.write('answer');
  console.log('reply:', await q.read({ key: 'RPL', wait: 5 }));
  for (const sql of ['SELECT * FROM ORDERS', 'SELECT 1']) {
    await jt.query(sql).catch((error) => console.log(`${sql}: ${error.message.split('\n')[0]}`));
  }
  try {
    const connection = await connect({ host: '127.0.0.1', user: 'ANNA', password: 'Secret1pw' });
    await connection.createKeyedDataQ({ name: 'KEYED' }).read('k01');
  } catch (error) {
    console.log('connect:', error.message.split('\n')[1].split(':')[0]);
  }
  try {
    await pool({ host: '127.0.0.1', user: 'ANNA', password: 'nothing' }).createKeyedDataQ({ name: 'KEYED' }).write('k01', 'x');
  } catch (error) {
    console.log('wrong password:', error.message.split('\n')[1].split('Exception: ')[1]);
  }
  await jt.close();
  process.exit(0);
})().catch((e) => { console.log('failed', e); process.exit(1); });
