//! Places from which an interrupted call goes on.

use mgp_stream::call::StreamPart;
use mgp_types::RpcService;
use mgp_types::ext::{RESUME, Resume};

use crate::Call;

/// The last place of a streamed call from which another call can go on.
///
/// ```no_run
/// # use mgp_client_sdk::{Client, StreamPart, StreamCheckpoint, Error, RpcService};
/// async fn export<S: RpcService>(client: &Client<S>) -> Result<Vec<StreamPart>, Error> {
///     let (mut parts, mut checkpoint) = (Vec::new(), None::<StreamCheckpoint>);
///     loop {
///         let mut call = client.call_tool("export", ()).resume(checkpoint.as_ref()).stream()?;
///         while let Some(part) = call.next().await {
///             parts.push(part);
///         }
///         let last = call.checkpoint().cloned();
///         match call.finish().await {
///             Ok(_) => return Ok(parts),
///             Err(error) if last.is_none() => return Err(error),
///             Err(_) => checkpoint = last,
///         }
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamCheckpoint {
    resume: Resume,
    /// The number of the next part.
    next: u64,
}

/// The number of the first part of a call that goes on with another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstPart(pub(crate) u64);

/// The newest checkpoint of a call that is read.
#[derive(Debug, Default)]
pub(crate) struct CheckpointWatch {
    pub(crate) newest: Option<StreamCheckpoint>,
    pub(crate) next: u64,
}

impl CheckpointWatch {
    pub(crate) fn note(&mut self, part: &StreamPart) {
        let (operation, token) = match part {
            StreamPart::Chunk(chunk) => {
                self.next = chunk.index + 1;
                (&chunk.operation_id, &chunk.checkpoint_token)
            }
            StreamPart::Progress(progress) => (&progress.operation_id, &progress.checkpoint_token),
            StreamPart::Gap { missing } => {
                self.next = missing.end;
                return;
            }
            _ => return,
        };
        if let (Some(operation), Some(token)) = (operation, token) {
            let resume = Resume::new(operation.clone(), token.clone());
            self.newest = Some(StreamCheckpoint { resume, next: self.next });
        }
    }
}

impl<S: RpcService, T> Call<S, T> {
    /// Goes on with an interrupted call from its last [checkpoint](crate::StreamedCall::checkpoint): a call of the same tool
    /// with the same arguments. Its parts are numbered on from there. Without a checkpoint the call begins anew.
    pub fn resume(self, checkpoint: Option<&StreamCheckpoint>) -> Self {
        let Some(checkpoint) = checkpoint else { return self };
        self.meta(RESUME, checkpoint.resume.to_raw())
            .request_with(|request| request.extensions.insert(FirstPart(checkpoint.next)))
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::mcp::ContentBlock;
    use mgp_types::mgp::{StreamChunk, StreamProgress};

    use super::*;

    // covers: EXT-08-08
    #[test]
    fn the_checkpoint_of_the_last_chunk_or_report_is_kept() {
        let mut watch = CheckpointWatch::default();
        let chunk = |index, token: Option<&str>| {
            let mut chunk = StreamChunk::new(index, ContentBlock::text("x"));
            chunk.operation_id = token.map(|_| "op".into());
            chunk.checkpoint_token = token.map(Into::into);
            StreamPart::Chunk(chunk)
        };
        let mut progress = StreamProgress::new(0.5);
        watch.note(&chunk(0, None));
        assert_eq!(watch.newest, None);
        watch.note(&chunk(1, Some("first")));
        let at = |token, next| StreamCheckpoint { resume: Resume::new("op", token), next };
        assert_eq!(watch.newest, Some(at("first", 2)));
        watch.note(&chunk(2, None));
        watch.note(&StreamPart::Progress(progress.clone()));
        assert_eq!(watch.newest, Some(at("first", 2)), "what came after it comes again");
        (progress.operation_id, progress.checkpoint_token) = (Some("op".into()), Some("second".into()));
        watch.note(&StreamPart::Progress(progress));
        assert_eq!(watch.newest, Some(at("second", 3)));
        watch.note(&chunk(3, Some("third")));
        assert_eq!(watch.newest, Some(at("third", 4)));
    }
}
