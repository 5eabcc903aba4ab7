mod handshake;
mod http;
mod inbound;
mod mgp;
mod relay;
mod script;
mod versions;
