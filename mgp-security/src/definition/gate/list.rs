//! Fetching of definition lists from a server, and their reduction to what was admitted.

use mgp_types::{Error, Object, RawJson, Request, Response, RpcService, call_once};

use crate::definition::{DefinitionAdmission, DefinitionKind};
use crate::tool::{MAX_PAGES, MAX_TOOLS};

/// The definitions of one kind that a server lists.
#[derive(Debug, Default)]
pub(super) struct FetchedList {
    /// The definitions, in the order of the list.
    pub(super) listed: Vec<Object>,
    /// True if the definitions are a further page of a list.
    pub(super) is_continued: bool,
    /// True if the first page is the whole list.
    pub(super) is_whole: bool,
}

/// Fetches the definitions that `request` asks for: one page of resources, all pages of other kinds. Returns them with
/// the response of the first page.
pub(super) async fn fetch<S: RpcService>(
    mut lists: S,
    mut request: Request,
    kind: DefinitionKind,
) -> Result<(Response, FetchedList), Error> {
    let malformed = || Error::misbehaved(format!("the list of {kind}s is none"));
    let is_continued = request.params.get("cursor").is_some_and(|cursor| !cursor.is_null());
    let mut fetched = FetchedList { listed: Vec::new(), is_continued, is_whole: true };
    let mut first = None;
    for _ in 0..MAX_PAGES {
        let mut response = call_once(&mut lists, request.clone()).await?;
        response.absorb_stamp();
        let page = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let listed = page.get(kind.list_member()).ok_or_else(malformed)?;
        let listed: Vec<RawJson> = listed.to().map_err(|_| malformed())?;
        // An entry that is not an object is refused like one that has no members.
        fetched.listed.extend(listed.iter().map(|listed| Object::from_raw(listed).unwrap_or_default()));
        if !kind.is_pinned() {
            return Ok((response, fetched));
        }
        if fetched.listed.len() > MAX_TOOLS {
            break;
        }
        fetched.is_whole &= first.is_none();
        let first = first.get_or_insert(response);
        match page.get("nextCursor").filter(|cursor| !cursor.is_null()) {
            None => return Ok((first.clone(), fetched)),
            Some(cursor) => request.params.set("cursor", cursor),
        }
    }
    Err(Error::misbehaved(format!("the server lists more {kind}s than anybody can look at")))
}

/// Returns the response with the definitions that were admitted; unchanged, if that is all of them and they are on one
/// page.
pub(super) fn admitted(
    mut response: Response,
    fetched: &FetchedList,
    admissions: &[DefinitionAdmission],
    kind: DefinitionKind,
) -> Response {
    let is_admitted =
        |admission: &DefinitionAdmission| admission.status.is_none_or(|status| !status.is_held());
    if fetched.is_whole && admissions.iter().all(is_admitted) {
        return response;
    }
    let listed = fetched.listed.iter().zip(admissions).filter(|(_, admission)| is_admitted(admission));
    let listed: Vec<&Object> = listed.map(|(listed, _)| listed).collect();
    let list = RawJson::from_value(&listed).unwrap_or_else(|_| RawJson::from_written(b"[]".to_vec()));
    let mut result = Object::from_raw(&response.result).unwrap_or_default();
    result.set(kind.list_member(), list);
    if kind.is_pinned() {
        result.remove("nextCursor");
    }
    response.result = result.to_raw().into();
    response
}
