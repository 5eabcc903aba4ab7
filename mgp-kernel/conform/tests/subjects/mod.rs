//! Programs that the kit is tested with: a right server and a right client, and their defects.

pub(crate) mod client;
pub(crate) mod client_defects;
pub(crate) mod defects;
pub(crate) mod http;
pub(crate) mod server;

use std::io::{BufRead as _, Write as _};

use serde_json::Value;

use self::server::{RightServer, error};

/// Serves on standard input and output, with a defect.
pub(crate) fn serve_stdio(defect: &str) {
    let mut server = RightServer::default();
    let mut is_initialized = false;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (message, mut reply) = if let Ok(message) = serde_json::from_str::<Value>(&line) {
            is_initialized |= message["method"] == "initialize";
            let reply = server.reply(&message, server::era_of(&message, None, is_initialized));
            (message, reply)
        } else {
            let messages = vec![error(&Value::Null, -32700, "parse error")];
            (Value::Null, server::Reply { messages, ..server::Reply::default() })
        };
        let era = server::era_of(&message, None, is_initialized);
        if defects::is_of_era(defect, era) {
            defects::spoil(defect, &server, &message, &mut reply);
        }
        let mut out = std::io::stdout().lock();
        for message in &reply.messages {
            // A text stands for output that is not a message.
            let line = message.as_str().map_or_else(|| message.to_string(), ToOwned::to_owned);
            writeln!(out, "{line}").unwrap();
        }
        out.flush().unwrap();
    }
}
