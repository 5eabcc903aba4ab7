//! The checkpoints of long calls: each agent's own, and no other's.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use memchr::memmem::Finder;
use mgp_stream::call::Progress;
use mgp_transport::token::{SealingKey, TokenBinding, TokenError, TokenPurpose};
use mgp_types::ext::{ExtensionId, RESUME, Resume, ToolDeclaration};
use mgp_types::mgp::{Refusal, ServerId};
use mgp_types::{
    BoxFuture, Error, Flow, Gate, Method, Object, Outbox, OutboxPort, RawJson, Request, RequestKind,
    Response, StreamId,
};

use super::mentioning;
use super::session_state::CurrentSession;

/// A gate that lets the tokens of checkpoints pass between their server and the agent that they were given to.
///
/// A token reaches its client with a proof behind it, which says which agent, server and operation it belongs to. A call that
/// goes on from a token without its proof is refused with 4021 or, after a day, with 4022; a call of a tool without
/// checkpoints with -32601, because its server would begin the call anew. The server gets its own token. Clients that did not declare
/// `streaming` and `progress_notifications` get the messages without the members of these extensions. Servers that
/// declared neither cost a look at two bits and at the bytes of `_meta`.
#[derive(Clone)]
pub(crate) struct CheckpointsGate {
    pub(crate) server: ServerId,
    /// Returns the session with the connected incarnation of the server.
    pub(crate) session: Arc<CurrentSession>,
    pub(crate) key: SealingKey,
}

impl Gate for CheckpointsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_CALL {
            return Flow::Pass(());
        }
        let declared = (self.session)().map(|session| session.extensions()).unwrap_or_default();
        let has_checkpoints = declared.has(ExtensionId::Streaming);
        if let Err(error) = self.resume(request, has_checkpoints) {
            request.context.note_refusal(Refusal::new("checkpoints", "not-given"));
            return Flow::refuse(error);
        }
        if has_checkpoints || declared.has(ExtensionId::ProgressNotifications) {
            self.follow(request);
        }
        Flow::Pass(())
    }
}

impl CheckpointsGate {
    /// Puts the server's own token into a call that goes on from one.
    fn resume(&self, request: &mut Request, has_checkpoints: bool) -> Result<(), Error> {
        let Some(mut meta) = mentioning(request, &MEMBER) else { return Ok(()) };
        let resume = match Resume::read(&meta) {
            Ok(Some(resume)) => resume,
            Ok(None) => return Ok(()),
            // The member may mean something else to a server without checkpoints.
            Err(_) if !has_checkpoints => return Ok(()),
            Err(error) => return Err(error),
        };
        match self.proved(request, &resume) {
            Ok(token) if has_checkpoints => {
                meta.set(RESUME, Resume::new(resume.operation_id.clone(), token).to_raw());
                request.params.set("_meta", meta.to_raw());
                Ok(())
            }
            _ if !(has_checkpoints && declares_checkpoints(request)) => {
                Err(Resume::unsupported(&request.params.text("name").unwrap_or_default()))
            }
            Err(TokenError::Expired) => Err(Resume::expired()),
            _ => Err(Resume::invalid()),
        }
    }

    /// Returns the server's token, if it was given to the sender of the request.
    fn proved<'r>(&self, request: &Request, resume: &'r Resume) -> Result<&'r str, TokenError> {
        let (token, proof) = resume.checkpoint_token.rsplit_once('.').ok_or(TokenError::Forged)?;
        self.key.open(proof, &of_token(self.binding(request), &resume.operation_id, token))?;
        Ok(token)
    }

    fn binding(&self, request: &Request) -> TokenBinding {
        let principal = request.context.principal.as_ref();
        TokenBinding::new(TokenPurpose::Checkpoint, principal).and(self.server.as_str().as_bytes())
    }

    /// Has the messages about a call pass with proofs, or without what its client does not know.
    fn follow(&self, request: &mut Request) {
        let Some(session) = request.context.session.as_ref().filter(|session| Progress::is_known_to(session))
        else {
            return;
        };
        let declared = session.extensions();
        let proofs = declared.has(ExtensionId::Streaming).then(|| (self.key.clone(), self.binding(request)));
        let tells_progress = declared.has(ExtensionId::ProgressNotifications);
        let outbox = std::mem::take(&mut request.context.outbox);
        let stream = outbox.stream();
        request.context.outbox = if outbox.is_open() {
            Outbox::new(Arc::new(CheckpointPort { outbox, proofs, tells_progress }), stream)
        } else {
            outbox
        };
    }
}

/// The outbox of a call whose server has checkpoints, or reports progress in the words of the extension.
struct CheckpointPort {
    outbox: Outbox,
    /// The key and the binding of the proofs, for a client that carries tokens.
    proofs: Option<(SealingKey, TokenBinding)>,
    /// True if the client knows the words of `progress_notifications`.
    tells_progress: bool,
}

impl CheckpointPort {
    fn write(&self, params: &mut Object) {
        if let Some(token) = params.remove("checkpoint_token")
            && let Some(proved) = self.proved(params, &token)
        {
            params.set("checkpoint_token", RawJson::from_text(&proved));
        }
        if !self.tells_progress {
            params.remove("type");
            params.remove("estimated_remaining_seconds");
            if !params.contains("checkpoint_token") {
                params.remove("operation_id");
            }
        }
    }

    /// Returns a token with its proof; `None` for a client that does not carry tokens.
    fn proved(&self, params: &Object, token: &RawJson) -> Option<String> {
        let ((key, binding), token) = (self.proofs.as_ref()?, token.to_text()?);
        let binding = of_token(*binding, &params.text("operation_id")?, &token);
        let proof = key.seal(&[], &binding, TTL).ok()?;
        Some(format!("{token}.{proof}"))
    }
}

impl OutboxPort for CheckpointPort {
    fn notify(&self, _: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if [Method::STREAM_CHUNK, Method::STREAM_PROGRESS].contains(&notification.method) {
            self.write(&mut notification.params);
        }
        Box::pin(self.outbox.notify(notification))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.outbox.call(request))
    }
}

fn of_token(binding: TokenBinding, operation: &str, token: &str) -> TokenBinding {
    binding.and(operation.as_bytes()).and(token.as_bytes())
}

fn declares_checkpoints(request: &Request) -> bool {
    let tool = request.context.tool.as_ref();
    tool.is_some_and(|tool| ToolDeclaration::of_definition(&tool.definition).supports_checkpoint)
}

static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""resume""#));

/// The time for which a token passes. Servers have times of their own.
const TTL: Duration = Duration::from_hours(24);
