//! Parts of a result and reports of progress, as a client reads them while the call runs.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::mgp::{Extension, ExtensionSet, Offer};
use mgp_client_sdk::types::ext::ExtensionId;
use mgp_client_sdk::{Object, StreamPart};
use mgp_server_sdk::{Cx, Server, Tool, ToolError};
use serde_json::json;
use tokio::sync::Notify;

use crate::servers::{MODES, connect, declaring};

/// Makes one row, and another one when it is told to.
async fn rows(cx: Cx, go_on: Arc<Notify>) -> Result<(), ToolError> {
    cx.stream("row 1;").await?;
    let so_far = Object::from_value(&json!({"rows": 1}))?;
    cx.progress_with_result(1.0, Some(2.0), Some("Processing row 1 of 2"), &so_far).await;
    go_on.notified().await;
    cx.stream("row 2;").await?;
    Ok(())
}

// covers: EXT-08-05
#[tokio::test]
async fn what_there_is_of_a_result_is_of_use_before_the_call_is_done() {
    for mode in MODES {
        let go_on = Arc::new(Notify::new());
        let signal = go_on.clone();
        let server = Server::new("exports", "1.0.0")
            .tool(Tool::new("rows", "Makes rows."), move |cx: Cx| rows(cx, signal.clone()))
            .streaming();
        let mut offer = Offer::new(ExtensionSet::new());
        offer.extensions.insert(Extension::Streaming);
        let builder = declaring(&[ExtensionId::ProgressNotifications]).mgp(offer);
        let client = connect(server, builder, mode).await;
        let mut call = client.call_tool("rows", ()).stream().unwrap();
        let mut next = async || tokio::time::timeout(Duration::from_mins(2), call.next()).await.unwrap();
        let Some(StreamPart::Chunk(part)) = next().await else { panic!("the first part is missing") };
        assert_eq!(part.content.as_text(), Some("row 1;"));
        let Some(StreamPart::Progress(progress)) = next().await else { panic!("the report is missing") };
        assert_eq!((progress.progress, progress.message.as_deref()), (0.5, Some("Processing row 1 of 2")));
        assert!(progress.operation_id.is_some());
        let so_far = Object::from_raw(&progress.partial_result.unwrap()).unwrap();
        assert_eq!(so_far.bytes("rows"), Some(&b"1"[..]));
        // The call is done only after its first row was read.
        go_on.notify_one();
        let Some(StreamPart::Chunk(part)) = next().await else { panic!("the second part is missing") };
        assert_eq!(part.content.as_text(), Some("row 2;"));
        assert!(next().await.is_none());
        let result = call.finish().await.unwrap();
        assert_eq!(result.is_error, None);
    }
}
