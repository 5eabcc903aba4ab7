//! Requests about tasks of both eras: each task is with the server that began it.

use std::sync::Arc;

use mgp_types::{Error, Object, RawJson, Request, Response};

use super::Routes;
use super::forward::RouterFuture;
use super::list_cache::{first_page, list_of};
use super::missing::required;
use crate::changes::declares_tasks;
use crate::servers::fan_out::{ask, has, to};
use crate::servers::upstream::Upstream;
use crate::visibility::CallerView;

impl Routes {
    /// Sends a request about one task to its server.
    pub(super) fn task(&self, request: Request) -> Result<RouterFuture, Error> {
        let session = request.context.session()?;
        if session.describes_each_request() {
            declares_tasks(session)?;
        }
        required(&request, "taskId", "which task is meant")?;
        match self.visibility.fleet.tasks().meant_by(&request)? {
            Some(task) => self.to_server(&task.place.line.server, request),
            None => Err(Error::method_not_found(&request.method)),
        }
    }

    /// Answers `tasks/list`: the caller's tasks of all servers, on one page.
    pub(super) async fn list_tasks(self: Arc<Self>, mut request: Request) -> Result<Response, Error> {
        first_page(&request)?;
        let view = CallerView::of(&self.visibility, &request.context)?;
        request.params.remove("cursor");
        let has_list =
            |upstream: &Arc<Upstream>| has(&upstream.capabilities(view.principal()), &["tasks", "list"]);
        let mut open: Vec<_> =
            view.servers().filter(has_list).map(|upstream| (upstream, request.clone())).collect();
        let mut all = Vec::new();
        for _ in 0..MAX_PAGES {
            if open.is_empty() {
                break;
            }
            let answers = ask(open.iter().map(|(upstream, request)| to(upstream, request)).collect()).await;
            open.retain_mut(|(upstream, request)| {
                let answer = answers.iter().find(|(server, _)| server == upstream.id());
                let page = match answer {
                    Some((_, Ok(response))) => Object::from_raw(&response.to_raw()).unwrap_or_default(),
                    Some((server, Err(error))) => {
                        tracing::debug!(%server, %error, "a server does not list its tasks");
                        return false;
                    }
                    None => return false,
                };
                let tasks = page.get("tasks").and_then(|tasks| tasks.to::<Vec<RawJson>>().ok());
                all.extend(tasks.unwrap_or_default());
                let next = page.get("nextCursor").filter(|cursor| !cursor.is_null());
                next.map(|cursor| request.params.set("cursor", cursor)).is_some()
            });
        }
        Ok(Response::plain(list_of("tasks", all)))
    }
}

const MAX_PAGES: usize = 16;
