//! Fetching of lists of definitions from a server.

use mgp_types::{Error, Object, RawJson, Request, Response, RpcService, call_once};

use super::{MAX_PAGES, MAX_TOOLS};

/// The definitions of one kind that a server lists.
#[derive(Debug, Default)]
pub(crate) struct FetchedList {
    /// The definitions, in the order of the list.
    pub(crate) listed: Vec<Object>,
    /// True if the definitions are a further page of a list.
    pub(crate) is_continued: bool,
    /// True if the first page is the whole list.
    pub(crate) is_whole: bool,
}

/// Fetches the definitions that `request` asks for, which are the `member` of each page: all pages, or one page of a list that
/// `is_only_paged`. Returns them with the response of the first page.
pub(crate) async fn fetch<S: RpcService>(
    mut lists: S,
    mut request: Request,
    member: &str,
    is_only_paged: bool,
) -> Result<(Response, FetchedList), Error> {
    let malformed = || Error::misbehaved(format!("the list has no `{member}`"));
    let is_continued = request.params.get("cursor").is_some_and(|cursor| !cursor.is_null());
    let mut fetched = FetchedList { listed: Vec::new(), is_continued, is_whole: true };
    let mut first = None;
    for _ in 0..MAX_PAGES {
        let mut response = call_once(&mut lists, request.clone()).await?;
        response.absorb_stamp();
        let page = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let listed = page.get(member).ok_or_else(malformed)?;
        let listed: Vec<RawJson> = listed.to().map_err(|_| malformed())?;
        // An entry that is not an object is refused like one that has no members.
        fetched.listed.extend(listed.iter().map(|listed| Object::from_raw(listed).unwrap_or_default()));
        if is_only_paged {
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
    Err(Error::misbehaved(format!("the server lists more `{member}` than anybody can look at")))
}
