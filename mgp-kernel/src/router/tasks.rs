//! Requests about tasks of both eras: each task is with the server that began it.

use std::sync::Arc;

use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, Principal, RawJson, Request, Response};

use super::Routes;
use super::forward::RouterFuture;
use super::list_cache::{first_page, list_of};
use super::missing::required;
use crate::changes::{ChangeListeners, declares_tasks};
use crate::servers::fan_out::{ask, has, to};
use crate::servers::task_locations::{self, TaskLocation};
use crate::servers::upstream::Upstream;
use crate::visibility::CallerView;

impl Routes {
    /// Sends a request about one task to its server.
    pub(super) fn task(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let (shown, place) = self.find_task(&request)?;
        if shown == *place.own {
            return self.to_server(&place.server, request);
        }
        task_locations::name(&mut request.params, &place.own);
        let answer = self.to_server(&place.server, request)?;
        Ok(RouterFuture::of(async move {
            let mut response = answer.await?;
            task_locations::rename(&mut response, &shown);
            Ok(response)
        }))
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
                let tasks: Vec<RawJson> =
                    page.get("tasks").and_then(|tasks| tasks.to().ok()).unwrap_or_default();
                let convert = |task| as_told(&self.changes, view.principal(), upstream.id(), task);
                all.extend(tasks.into_iter().map(convert));
                let next = page.get("nextCursor").filter(|cursor| !cursor.is_null());
                next.map(|cursor| request.params.set("cursor", cursor)).is_some()
            });
        }
        Ok(Response::plain(list_of("tasks", all)))
    }

    /// Returns the id in the request, and the location of that task.
    fn find_task(&self, request: &Request) -> Result<(String, TaskLocation), Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let session = request.context.session()?;
        if session.describes_each_request() {
            declares_tasks(session)?;
        }
        let task = required(request, "taskId", "which task is meant")?;
        match self.changes.tasks.find(view.principal(), &task) {
            Some(place) => Ok((task, place)),
            None => Err(Error::invalid_params(format!("there is no task `{task}` of yours"))),
        }
    }
}

/// Returns a task of a list, with the id by which its caller knows it.
fn as_told(changes: &ChangeListeners, caller: &Principal, server: &ServerId, task: RawJson) -> RawJson {
    let Ok(mut object) = Object::from_raw(&task) else { return task };
    let Some(own) = object.text("taskId") else { return task };
    match changes.tasks.shown(caller, server, &own) {
        Some(shown) if *shown != *own => {
            drop(own);
            task_locations::name(&mut object, &shown);
            object.to_raw()
        }
        _ => task,
    }
}

const MAX_PAGES: usize = 16;
