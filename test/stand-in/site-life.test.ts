/**
 * The operator's Jobs and gunicorn wrapper on the image's framework: a site from its creation to
 * its end.
 */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { get } from '../jobs/servers.js';
import { describeOnServers } from './fixture.js';

const PING = '/api/method/ping';

await describeOnServers('a site of the framework image', (stack) => {
  it('serves from its creation to its removal', async () => {
    const { bench } = stack();
    const web = await bench.gunicorn();
    const site = stack().site({ SITE_APPS: '["frappe", "erpnext"]' });
    const ping = () => get(web.port, PING, { Host: site.name });

    assert.equal((await ping()).status, 404);
    const created = await site.init();
    assert.equal(created.code, 0, created.output);
    assert.match(created.lastLine, /Succeeded: .*"frappe": "15\.44\.2", "erpnext": "15\.40\.0"/);
    assert.deepEqual([(await ping()).status, (await ping()).body], [200, '{"message":"pong"}']);

    const dropped = await site.drop();
    assert.equal(dropped.code, 0, dropped.output);
    assert.equal((await ping()).status, 404);
    await web.server.stop();
  });
});
