//! The questions of a handler to its caller.

use std::time::Duration;

use futures_util::future::join_all;
use mgp_stream::callback::{Callback, Callbacks};
use mgp_types::mcp::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams, Elicited,
    ForRevision, FormSchema, ListRootsResult, Map, Root,
};
use mgp_types::{Error, Method, Object, Origin, RawJson, Revision};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::Cx;
use crate::schema;

/// The time that the caller has for an answer, which is as long as a client waits for a call at most.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(10);

/// A question for the caller whose answer is a `T`, for [`Cx::ask_all`].
pub struct Ask<T> {
    key: String,
    method: Method,
    params: Box<dyn FnOnce(Revision) -> Result<Object, Error> + Send>,
    read: fn(&RawJson) -> Option<T>,
}

impl Ask<()> {
    /// Creates any question: `method` with `params`, its answer read as a `T`.
    pub fn raw<T: DeserializeOwned>(
        key: impl Into<String>,
        method: impl Into<Method>,
        params: Object,
    ) -> Ask<T> {
        Ask::new(key, method.into(), |_| Ok(params), |answer| answer.to().ok())
    }

    /// Creates a question that asks the user to fill in a form with the fields of `T`.
    pub fn elicit<T>(key: impl Into<String>, message: impl Into<String>) -> Ask<Elicited<T>>
    where
        T: DeserializeOwned + JsonSchema,
    {
        let message = message.into();
        let write = move |revision| form(message, schema::form_of::<T>()?, revision);
        Ask::new(key, Method::ELICIT, write, elicited)
    }

    /// Creates a question that asks the user to fill in this form.
    pub fn elicit_form(
        key: impl Into<String>,
        message: impl Into<String>,
        schema: FormSchema,
    ) -> Ask<Elicited<Map<RawJson>>> {
        let message = message.into();
        Ask::new(key, Method::ELICIT, move |revision| form(message, schema, revision), elicited)
    }

    /// Creates a question that asks the user to visit a page. Accepting means to visit the page, not to be done there.
    pub fn elicit_url(
        key: impl Into<String>,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Ask<Elicited<()>> {
        let params = ElicitUrlParams::new(message, url).with_elicitation_id(mgp_types::random_name());
        let read = |answer: &RawJson| Some(Elicited::from(answer.to::<ElicitResult>().ok()?).map(drop));
        Ask::new(key, Method::ELICIT, body(params), read)
    }

    /// Creates a question for the caller's model.
    pub fn sample(key: impl Into<String>, params: CreateMessageParams) -> Ask<CreateMessageResult> {
        Ask::new(key, Method::CREATE_MESSAGE, body(params), |answer| answer.to().ok())
    }

    /// Creates a question for the directories that the caller works on.
    pub fn roots(key: impl Into<String>) -> Ask<Vec<Root>> {
        let read = |answer: &RawJson| answer.to().ok().map(|result: ListRootsResult| result.roots);
        Ask::new(key, Method::ROOTS_LIST, |_| Ok(Object::new()), read)
    }
}

impl<T> Ask<T> {
    fn new<W>(key: impl Into<String>, method: Method, params: W, read: fn(&RawJson) -> Option<T>) -> Self
    where
        W: FnOnce(Revision) -> Result<Object, Error> + Send + 'static,
    {
        Self { key: key.into(), method, params: Box::new(params), read }
    }
}

/// Writes params in the form of the revision.
fn body<P>(params: P) -> impl FnOnce(Revision) -> Result<Object, Error> + Send
where
    P: ForRevision + Serialize + Send,
{
    move |revision| {
        Object::from_value(&params.for_revision(revision))
            .map_err(|error| Error::internal("the question is not JSON").with_source(error))
    }
}

mgp_types::partial_debug!([T] Ask<T>, self => key: self.key, method: self.method);

/// Questions that are asked together: a tuple of [`Ask`]s, or any number of one type.
pub trait AskAll: Send {
    /// The answers to the questions.
    type Answers;

    /// Asks all questions at once.
    #[doc(hidden)]
    fn ask_all(self, cx: &Cx) -> impl Future<Output = Result<Self::Answers, Error>> + Send;
}

impl Cx {
    /// Asks the caller as MGP does (§13.4), or as MCP does where the caller does not speak MGP: a confirmation, an
    /// input or a selection, or a notification that needs no answer. `key` is as for [`ask`](Self::ask).
    ///
    /// # Errors
    /// The caller cannot be asked, does not answer in time (3003), or the answer is still to come. A call that became a
    /// task has been answered already, and callbacks belong to calls.
    pub async fn callback<A: Send + 'static>(&self, key: &str, question: Callback<A>) -> Result<A, Error> {
        if self.task().is_some() {
            return Err(Error::invalid_request("a task cannot send callbacks; use `Cx::elicit`"));
        }
        let server = self.extras().server.as_ref();
        let callbacks = server.map_or_else(Callbacks::new, |server| server.about.callbacks.clone());
        callbacks.ask(self.context(), key, question).await
    }

    /// Asks the caller: `method` is `elicitation/create`, `sampling/createMessage` or `roots/list`.
    ///
    /// Where the caller cannot be asked directly, the call is answered with the question and the handler runs again
    /// from its start once the answer has come, so every step before the question must bear repetition. `key` names the
    /// question and has to be the same in each run. Handlers pass errors on with `?`: the one that carries the question
    /// must reach the caller.
    ///
    /// A question without an answer is taken back after ten minutes.
    ///
    /// # Errors
    /// The caller cannot be asked this, refuses, or does not answer in time (3003); or the answer is still to come.
    pub async fn ask(&self, key: &str, method: impl Into<Method>, params: Object) -> Result<RawJson, Error> {
        let method = method.into();
        // A task has a time of its own.
        if let Some(task) = self.task() {
            return task.ask(self.context(), key, method, params).await;
        }
        let answer = timeout(ANSWER_TIMEOUT, self.context().ask(key, method, params)).await;
        answer.unwrap_or_else(|_| Err(Error::timeout("the client did not answer the question in time")))
    }

    /// Asks several questions in one round. See [`ask`](Self::ask).
    ///
    /// ```
    /// # use mgp_server_sdk::{Ask, Cx, ToolError};
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Name { name: String }
    ///
    /// async fn greet(cx: Cx) -> Result<String, ToolError> {
    ///     let (name, roots) =
    ///         cx.ask_all((Ask::elicit::<Name>("name", "Who are you?"), Ask::roots("roots"))).await?;
    ///     let name = name.accepted().map_or("stranger".into(), |form| form.name);
    ///     Ok(format!("Hello, {name}, you have {} roots", roots.len()))
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`ask`](Self::ask): the first error of a question, if not all can be answered.
    pub async fn ask_all<A: AskAll>(&self, questions: A) -> Result<A::Answers, Error> {
        questions.ask_all(self).await
    }

    /// Asks the user to fill in a form with the fields of `T`, which has texts, numbers, booleans and choices only. See
    /// [`ask`](Self::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or the answer does not fit the form.
    pub async fn elicit<T>(&self, key: &str, message: impl Into<String>) -> Result<Elicited<T>, Error>
    where
        T: DeserializeOwned + JsonSchema,
    {
        self.put(Ask::elicit(key, message)).await
    }

    /// Asks the user to fill in this form. See [`ask`](Self::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn elicit_form(
        &self,
        key: &str,
        message: impl Into<String>,
        schema: FormSchema,
    ) -> Result<Elicited<Map<RawJson>>, Error> {
        self.put(Ask::elicit_form(key, message, schema)).await
    }

    /// Asks the user to visit a page. Accepting means to visit the page, not to be done there.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn elicit_url(
        &self,
        key: &str,
        message: impl Into<String>,
        url: impl Into<String>,
    ) -> Result<Elicited<()>, Error> {
        self.put(Ask::elicit_url(key, message, url)).await
    }

    /// Asks the caller's model. See [`ask`](Self::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or the answer is not one of a model.
    pub async fn sample(&self, key: &str, params: CreateMessageParams) -> Result<CreateMessageResult, Error> {
        self.put(Ask::sample(key, params)).await
    }

    /// Asks for the directories that the caller works on. See [`ask`](Self::ask).
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or the answer is no list of roots.
    pub async fn roots(&self, key: &str) -> Result<Vec<Root>, Error> {
        self.put(Ask::roots(key)).await
    }

    async fn put<T>(&self, question: Ask<T>) -> Result<T, Error> {
        let Ask { key, method, params, read } = question;
        let params = params(self.session().revision)?;
        let answer = self.ask(&key, method, params).await?;
        read(&answer)
            .ok_or_else(|| Error::invalid_params(format!("the answer to `{key}` does not fit the question")))
    }
}

fn form(message: String, schema: FormSchema, revision: Revision) -> Result<Object, Error> {
    body(ElicitFormParams::new(message, schema))(revision)
}

fn elicited<T: DeserializeOwned>(answer: &RawJson) -> Option<Elicited<T>> {
    Elicited::read(answer.to().ok()?).ok()
}

/// Returns the error that answers the call: a refusal if there is one, else the error that answers are still to come.
fn first_error(errors: impl Iterator<Item = Error>) -> Option<Error> {
    errors.min_by_key(|error| error.origin() == Origin::InputRequired)
}

impl<T: Send> AskAll for Vec<Ask<T>> {
    type Answers = Vec<T>;

    async fn ask_all(self, cx: &Cx) -> Result<Vec<T>, Error> {
        let mut outcomes = join_all(self.into_iter().map(|question| cx.put(question))).await;
        let errors = outcomes.extract_if(.., |outcome| outcome.is_err()).filter_map(Result::err);
        first_error(errors).map_or_else(|| outcomes.into_iter().collect(), Err)
    }
}

impl<T: Send, const N: usize> AskAll for [Ask<T>; N] {
    type Answers = Vec<T>;

    async fn ask_all(self, cx: &Cx) -> Result<Vec<T>, Error> {
        Vec::from(self).ask_all(cx).await
    }
}

macro_rules! tuples {
    ($(($($type:ident $name:ident),+) $join:ident;)+) => {
        $(impl<$($type: Send),+> AskAll for ($(Ask<$type>,)+) {
            type Answers = ($($type,)+);

            async fn ask_all(self, cx: &Cx) -> Result<Self::Answers, Error> {
                let ($($name,)+) = self;
                let ($($name,)+) = futures_util::future::$join($(cx.put($name)),+).await;
                match ($($name,)+) {
                    ($(Ok($name),)+) => Ok(($($name,)+)),
                    ($($name,)+) => {
                        let errors = [$($name.err()),+].into_iter().flatten();
                        Err(first_error(errors).unwrap_or_else(Error::input_required))
                    }
                }
            }
        })+
    };
}

tuples! {
    (A a, B b) join;
    (A a, B b, C c) join3;
    (A a, B b, C c, D d) join4;
    (A a, B b, C c, D d, E e) join5;
}
