//! The events of the record that fit a filter, as a file.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use mgp_transport::http::HttpBody;
use mgp_types::Error;
use tokio::sync::mpsc;

use super::form::Form;
use super::logins::PageLogin;
use crate::admin::audit::ExportEvents;

/// Returns the events that fit the filter of `query` as lines of JSON, the oldest first. They are read as fast as the browser takes
/// them. A file that could not be finished ends with a line that says so.
///
/// # Errors
/// The filter is malformed.
pub(super) fn file(login: Arc<PageLogin>, query: &Form) -> Result<Response<HttpBody>, Error> {
    let wanted = query.clone().without("behind:json").0.params()?.to();
    let mut wanted: ExportEvents = wanted.map_err(|error| Error::invalid_params(error.to_string()))?;
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
