// Loaded before the realtime server by `node --require`: its requests to the sites go to nginx of the bench.
//
// The framework asks `<Origin>/api/method/...` who the user of a socket is. The public name of a site may not
// resolve in the cluster, and its certificate may be of a private authority. So nginx passes an Origin with a port of
// its own, and connections to that port, of any host, are made to nginx. Nothing else changes: the Host header
// names the site, and nginx answers 404 for a host that is none of its sites.
//
//   NGINX_HOST, NGINX_PORT  the Service of nginx
//   SOCKETIO_ORIGIN_PORT    the port of the Origin
'use strict';

const { Socket } = require('node:net');
const { env } = require('node:process');

const originPort = Number(env.SOCKETIO_ORIGIN_PORT);
const nginx = { host: env.NGINX_HOST, port: Number(env.NGINX_PORT) };
const { connect } = Socket.prototype;

// All of Node.js' clients connect by this method: node:http, fetch, and the packages that use them.
Socket.prototype.connect = function connectToSite(...args) {
  // node:net passes a list that it has made already; a caller passes the options themselves.
  const list = Array.isArray(args[0]) ? args[0] : args;
  const [options] = list;
  if (typeof options === 'object' && options !== null && Number(options.port) === originPort) {
    // Not changed in place: an agent finds its sockets by these options.
    list[0] = { ...options, ...nginx };
  }
  return connect.apply(this, args);
};
