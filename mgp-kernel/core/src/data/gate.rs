//! The gate that takes references over from a server, and hands references on to it.

use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use mgp_types::ext::{DataReference, ImportData};
use mgp_types::mgp::{Refusal, ServerId, written};
use mgp_types::{
    Error, Flow, Gate, Method, Object, Principal, RawJson, Request, RequestKind, Response, ResultShape,
};

use super::DataBroker;
use crate::call::may_name;

/// A gate in front of one server that has data go from server to server by reference.
///
/// In results of the server, the references of its links (`_meta.data_reference`) become those of the kernel. In calls, an
/// argument that is a reference, or arguments that are one (`ref_id` and `origin_server`), are looked up, their data is
/// fetched, and `_meta.data_references` tells the server how to read it; the arguments stay as they are. A call that names a
/// reference which its agent does not have is refused. The gate stands behind all that decides about a call. While
/// `listen.data_references` is off, it reads that and nothing else.
#[derive(Clone)]
pub(crate) struct DataReferencesGate {
    pub(crate) server: ServerId,
    pub(crate) broker: Arc<DataBroker>,
}

impl Gate for DataReferencesGate {
    type Pass = Option<Principal>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        if request.kind != RequestKind::Call || !self.broker.is_on() {
            return Flow::Pass(None);
        }
        if request.method != Method::TOOLS_CALL {
            let is_of_call = request.method == Method::TASKS_RESULT;
            return Flow::Pass(request.context.principal.clone().filter(|_| is_of_call));
        }
        // Only the kernel tells a server what it may read.
        if let Some(meta) = request.meta_mut() {
            meta.remove(HANDED);
        }
        let named = match named_references(request) {
            Ok(named) => named,
            Err(error) => return Flow::refuse(error),
        };
        let agent = request.context.principal.clone();
        if named.is_empty() {
            return Flow::Pass(agent);
        }
        let Some(agent) = agent else { return Flow::refuse(Error::invalid_request("nobody says who calls")) };
        let (gate, mut request) = (self.clone(), request.take());
        Flow::wait(async move {
            let handed = gate.hand_over(&named, &agent).await;
            if let (Err(_), Some(trail)) = (&handed, &request.context.trail) {
                trail.note_refusal(Refusal::new("data", "reference"));
            }
            let flow = handed.map(|handed| {
                request.meta_mut_or_new().set(HANDED, handed);
                Some(agent)
            });
            (request, flow.into())
        })
    }

    fn leave(&self, agent: Self::Pass, outcome: &mut Result<Response, Error>) {
        let (Some(agent), Ok(response)) = (agent, outcome.as_mut()) else { return };
        if !may_name(response.result.as_bytes(), &MEMBER) {
            return;
        }
        if let Err(error) = self.take_over(&agent, response) {
            *outcome = Err(error);
        }
    }
}

impl DataReferencesGate {
    async fn hand_over(&self, named: &[ImportData], agent: &Principal) -> Result<RawJson, Error> {
        let mut handed = Vec::with_capacity(named.len());
        for named in named {
            handed.push(self.broker.hand_over(named, agent, &self.server).await?);
        }
        written(&handed)
    }

    /// Puts references of the kernel in the place of those in the links of a result.
    fn take_over(&self, agent: &Principal, response: &mut Response) -> Result<(), Error> {
        response.absorb_stamp();
        let Ok(mut result) = Object::from_raw(&response.result) else { return Ok(()) };
        let Some(Ok(mut blocks)) = result.get("content").map(|content| content.to::<Vec<RawJson>>()) else {
            return Ok(());
        };
        let mut is_other = false;
        for block in &mut blocks {
            let Ok(mut link) = Object::from_raw(block) else { continue };
            let Some(mut meta) = link.object("_meta").filter(|meta| meta.contains(DataReference::MEMBER))
            else {
                continue;
            };
            let theirs = meta.get(DataReference::MEMBER).and_then(|raw| raw.to::<DataReference>().ok());
            match theirs.and_then(|theirs| self.broker.take_over(&self.server, agent, theirs)) {
                Some(ours) => meta.set(DataReference::MEMBER, ours.to_raw()),
                // What is no reference, or leads nowhere, is not passed for one.
                None => drop(meta.remove(DataReference::MEMBER)),
            }
            link.set("_meta", meta.to_raw());
            *block = link.to_raw();
            is_other = true;
        }
        if !is_other {
            return Ok(());
        }
        result.set("content", written(&blocks)?);
        response.result = result.to_raw().into();
        response.context.shape = ResultShape::Opaque;
        Ok(())
    }
}

/// Returns the references that the arguments of a call name: the arguments themselves, or members of them.
fn named_references(request: &Request) -> Result<Vec<ImportData>, Error> {
    let arguments = request.params.get("arguments").filter(|raw| may_name(raw.as_bytes(), &REF_ID));
    let arguments = arguments.and_then(|raw| Object::from_raw(&raw).ok()).unwrap_or_default();
    let members = arguments.iter().filter_map(|(_, member)| named(&Object::from_raw(&member).ok()?));
    let named: Vec<ImportData> = named(&arguments).into_iter().chain(members).collect();
    if named.len() > MAX_NAMED {
        return Err(Error::invalid_params(format!("a call names {MAX_NAMED} references at most")));
    }
    Ok(named)
}

/// Returns the reference that an object is.
fn named(object: &Object) -> Option<ImportData> {
    let (ref_id, origin) = (object.text("ref_id")?, object.text("origin_server")?);
    Some(ImportData::new(&*ref_id, &*origin))
}

static MEMBER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""data_reference""#));
static REF_ID: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""ref_id""#));

/// The member of `_meta` that tells a server how to read the data of the references that a call names.
const HANDED: &str = "data_references";
/// The references that one call may name.
const MAX_NAMED: usize = 8;
