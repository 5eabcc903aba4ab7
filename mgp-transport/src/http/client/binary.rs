//! Calls in parts: `multipart/related` with the message first, and the bytes of its binary arguments behind it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use memchr::memmem;
use mgp_types::{Error, Params, RawJson, Request};

/// The binary arguments of a call, whose bytes an HTTP client sends as parts behind the message instead of in base64.
///
/// The value is an extension of a request, if the server takes the request in parts; `Default` holds none.
#[derive(Clone, Default)]
pub struct BinaryArguments(Vec<BinaryArgument>);

#[derive(Clone)]
struct BinaryArgument {
    name: Box<str>,
    media_type: HeaderValue,
    content: Bytes,
}

const MAX_PARTS: usize = 64;

impl BinaryArguments {
    /// Sets an argument of a call: in base64, and beside it as bytes if the request has this extension.
    ///
    /// # Errors
    /// -32602: `media_type` has characters that no header can carry, or the call has more than 64 binary arguments.
    pub fn attach(
        request: &mut Request,
        name: &str,
        media_type: &str,
        content: impl Into<Bytes>,
    ) -> Result<(), Error> {
        let content = content.into();
        let media_type = HeaderValue::from_str(media_type).map_err(|error| {
            Error::invalid_params("a media type is visible ASCII, such as `image/png`").with_source(error)
        })?;
        set_argument(&mut request.params, name, RawJson::from_text(&STANDARD.encode(&content)));
        let Some(Self(mut arguments)) = request.extensions.get::<Self>().cloned() else { return Ok(()) };
        arguments.retain(|argument| &*argument.name != name);
        if arguments.len() >= MAX_PARTS {
            return Err(Error::invalid_params("a call has at most 64 binary arguments"));
        }
        arguments.push(BinaryArgument { name: name.into(), media_type, content });
        request.extensions.insert(Self(arguments));
        Ok(())
    }

    /// Returns the arguments that a request has beside its message; `None` if there are none.
    pub(super) fn of(request: &Request) -> Option<&Self> {
        request.extensions.get::<Self>().filter(|arguments| !arguments.0.is_empty())
    }

    /// Returns the params with references in place of the arguments.
    pub(super) fn params(&self, params: &Params) -> Params {
        let mut params = params.clone();
        for (index, argument) in self.0.iter().enumerate() {
            let reference = format!(r#"{{"$part":"cid:p{index}"}}"#);
            set_argument(&mut params, &argument.name, RawJson::from_written(reference.into_bytes()));
        }
        params
    }

    /// Returns the content type and the body of a request with this message.
    pub(super) fn join(&self, message: &[u8]) -> Result<(HeaderValue, Bytes), Error> {
        let mut number = 0_u32;
        let boundary = loop {
            let boundary = format!("part-{number}");
            if !self.holds(&boundary, message) {
                break boundary;
            }
            number += 1;
        };
        let content_type = format!(r#"multipart/related; type="application/json"; boundary="{boundary}""#);
        let content_type = HeaderValue::try_from(content_type)
            .map_err(|error| Error::internal("the content type is no header").with_source(error))?;
        let mut body = format!("--{boundary}\r\nContent-Type: application/json\r\n\r\n").into_bytes();
        body.extend_from_slice(message);
        for (index, argument) in self.0.iter().enumerate() {
            body.extend_from_slice(format!("\r\n--{boundary}\r\nContent-Type: ").as_bytes());
            body.extend_from_slice(argument.media_type.as_bytes());
            let rest = format!("\r\nContent-Transfer-Encoding: binary\r\nContent-ID: <p{index}>\r\n\r\n");
            body.extend_from_slice(rest.as_bytes());
            body.extend_from_slice(&argument.content);
        }
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        Ok((content_type, body.into()))
    }

    /// Returns whether one of the parts would be cut by the boundary.
    fn holds(&self, boundary: &str, message: &[u8]) -> bool {
        let delimiter = format!("--{boundary}");
        let finder = memmem::Finder::new(delimiter.as_bytes());
        finder.find(message).is_some()
            || self.0.iter().any(|argument| finder.find(&argument.content).is_some())
    }
}

mgp_types::partial_debug!(BinaryArguments, self => arguments: self.0.len());

fn set_argument(params: &mut Params, name: &str, value: RawJson) {
    params.object_mut_or_new("arguments").set(name.to_owned(), value);
}
