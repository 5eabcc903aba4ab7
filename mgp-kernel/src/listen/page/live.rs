//! The stream by which an open page learns that what it shows may have changed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use mgp_transport::http::HttpBody;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::PageServer;
use super::logins::PageLogin;
use crate::sections::Sections;

/// Returns a stream with an event whenever the questions or the record change, which tells of servers, too. It ends with the kernel, and holds a
/// kernel that ends by itself as long as the page is open.
pub(super) fn stream(server: &Arc<PageServer>, login: Arc<PageLogin>) -> Response<HttpBody> {
    let (events, body) = mpsc::channel(1);
    let sections = server.kernel.sections().clone();
    let mut stopped = server.stopped.clone();
    tokio::spawn(async move {
        let Some(_open) = sections.lifecycle.connections.command() else { return };
        let mut asked = sections.policies.pending.asked();
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = None;
        while login.holds() {
            let now = shown_state(&sections);
            let event = if last == Some(now) { &b":\n\n"[..] } else { b"data: changed\n\n" };
            last = Some(now);
            if events.send(Bytes::from_static(event)).await.is_err() {
                return;
            }
            tokio::select! {
                _ = ticks.tick() => {}
                _ = asked.changed() => {}
                _ = stopped.wait_for(|stopped| *stopped) => return,
            }
        }
    });
    Response::builder().header(CONTENT_TYPE, "text/event-stream").body(body.into()).unwrap_or_default()
}

/// Returns the number of events in the record and that of open questions: pages show something else once one differs.
fn shown_state(sections: &Sections) -> (u64, usize) {
    (sections.audit.log.head().seq, sections.policies.pending.list().len())
}

const LOOK_EVERY: Duration = Duration::from_secs(1);
