mod handshake;
mod http;
mod inbound;
mod mgp;
mod script;
mod versions;
