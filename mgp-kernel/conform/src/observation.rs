//! What the kit observed of a server during a scenario.

use serde_json::{Value, json};

use crate::link::Receipt;

/// Everything that a server sent during a scenario.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    /// The answer to the last step.
    pub(crate) answer: Value,
    /// The statuses of HTTP, one for each step.
    pub(crate) statuses: Vec<u16>,
    /// The headers of the last HTTP response.
    pub(crate) headers: Value,
    pub(crate) notifications: Vec<Value>,
    /// The requests of the server to its client.
    pub(crate) requests: Vec<Value>,
    /// Answers to what the kit did not ask.
    pub(crate) stray: Vec<Value>,
    /// Texts that are not JSON.
    pub(crate) unreadable: Vec<String>,
}

impl Observation {
    pub(crate) fn receive(&mut self, receipt: &Receipt) {
        self.statuses.extend(receipt.status);
        self.headers = json!(receipt.headers);
    }

    /// Returns the document that scenarios point into.
    pub(crate) fn document(&self) -> Value {
        let progress = self.notifications.iter().filter(|sent| sent["method"] == "notifications/progress");
        let progress: Vec<_> = progress.map(|sent| &sent["params"]).collect();
        let values: Vec<_> = progress.iter().filter_map(|params| params["progress"].as_f64()).collect();
        let tokens: Vec<_> = progress.iter().map(|params| &params["progressToken"]).collect();
        json!({
            "answer": self.answer,
            "status": self.statuses.last(),
            "statuses": self.statuses,
            "headers": self.headers,
            "notifications": self.notifications,
            "requests": self.requests,
            "stray": self.stray,
            "unreadable": self.unreadable,
            "progress": { "tokens": tokens, "is_increasing": values.is_sorted_by(|one, next| one < next) },
        })
    }
}
