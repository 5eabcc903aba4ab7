//! The answers that go on: the stream by which an open page learns that what it shows may have changed, and the events of
//! the record that fit a filter, as a file.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use mgp_transport::http::HttpBody;
use mgp_types::Error;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::PageServer;
use super::form::Form;
use super::sign_in::PageLogin;
use crate::admin::audit::ExportEvents;

/// Returns a stream with an event whenever the questions or the record change, which tells of servers, too. It ends with the kernel, and holds a
/// kernel that ends by itself as long as the page is open.
pub(super) fn changes(server: &Arc<PageServer>, login: Arc<PageLogin>) -> Response<HttpBody> {
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
            // A page shows something else once one of these differs.
            let now = (sections.audit.log.head().seq, sections.policies.pending.list().len());
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

const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Returns the events that fit the filter of `query` as lines of JSON, the oldest first. They are read as fast as the browser takes
/// them. A file that could not be finished ends with a line that says so.
///
/// # Errors
/// The filter is malformed.
pub(super) fn file(login: Arc<PageLogin>, query: &Form) -> Result<Response<HttpBody>, Error> {
    let mut wanted: ExportEvents = query.clone().without("behind:json").0.to()?;
    let (pieces, body) = mpsc::channel(1);
    tokio::spawn(async move {
        while login.holds() {
            let Ok(page) = login.client.ask(&wanted).await else { break };
            if pieces.send(Bytes::from(page.text)).await.is_err() {
                return;
            }
            let Some(behind) = page.next_behind else { return };
            wanted.behind = behind;
        }
        let _ = pieces.send(Bytes::from_static(UNFINISHED)).await;
    });
    let answer = Response::builder()
        .header(CONTENT_TYPE, "application/x-ndjson")
        .header(CONTENT_DISPOSITION, "attachment; filename=\"record.jsonl\"");
    Ok(answer.body(body.into()).unwrap_or_default())
}

/// The line at the end of a file that lacks the rest.
const UNFINISHED: &[u8] = b"{\"unfinished\":\"the rest of the record could not be read\"}\n";
