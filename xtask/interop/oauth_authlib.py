"""`authlib` as the authorization server: oauth_authlib.py issuer PORT, where Alice consents to everything; and as the
resource server in front of a small MCP server: oauth_authlib.py resource PORT ISSUER."""

import json
import secrets
import sys
import time
import urllib.request

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import ClientMixin, grants
from authlib.oauth2.rfc7591 import ClientRegistrationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc9068 import JWTBearerTokenGenerator, JWTBearerTokenValidator
from authlib.oauth2.rfc9207 import IssuerParameter
from flask import Flask, jsonify, request
from joserfc.jwk import KeySet, RSAKey

PART, PORT = sys.argv[1], int(sys.argv[2])
OWN = f"http://127.0.0.1:{PORT}"
app = Flask(__name__)


class Client(ClientMixin):
    def __init__(self, info, metadata):
        self.id, self.secret, self.metadata = info["client_id"], info.get("client_secret"), metadata

    def get_client_id(self):
        return self.id

    def get_default_redirect_uri(self):
        return self.metadata["redirect_uris"][0]

    def get_allowed_scope(self, scope):
        return scope

    def check_redirect_uri(self, uri):
        return uri in self.metadata["redirect_uris"]

    def check_client_secret(self, secret):
        return secrets.compare_digest(self.secret or "", secret)

    def check_endpoint_auth_method(self, method, endpoint):
        return method == self.metadata.get("token_endpoint_auth_method", "client_secret_basic")

    def check_response_type(self, kind):
        return kind == "code"

    def check_grant_type(self, kind):
        return kind in self.metadata.get("grant_types", ["authorization_code"])


class Person:
    def get_user_id(self):
        return "alice"


class Code:
    def __init__(self, text, asked):
        self.text, self.used, self.made = text, False, time.time()
        self.client_id, self.redirect_uri, self.scope = asked.client.id, asked.payload.redirect_uri, asked.payload.scope
        self.code_challenge = asked.payload.data.get("code_challenge")
        self.code_challenge_method = asked.payload.data.get("code_challenge_method")
        self.resource = asked.payload.data.get("resource")

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


clients, codes, renewals = {}, {}, {}


class Codes(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]

    def save_authorization_code(self, code, asked):
        codes[code] = Code(code, asked)

    def query_authorization_code(self, code, client):
        found = codes.get(code)
        return found if found and found.client_id == client.id else None

    def delete_authorization_code(self, code):
        del codes[code.text]

    def authenticate_user(self, code):
        return Person()


class Renewals(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, token):
        return renewals.get(token)

    def authenticate_user(self, token):
        return Person()

    def revoke_old_credential(self, token):
        del renewals[token.text]


class Renewal:
    def __init__(self, text, client, scope):
        self.text, self.client_id, self.scope = text, client.id, scope

    def check_client(self, client):
        return client.id == self.client_id

    def get_scope(self):
        return self.scope


class Registration(ClientRegistrationEndpoint):
    def authenticate_token(self, _):
        return "everybody"

    def get_server_metadata(self):
        return {}

    def save_client(self, info, metadata, _):
        clients[info["client_id"]] = Client(info, metadata)
        return clients[info["client_id"]]

    def generate_client_registration_info(self, client, _):
        return None


class Issuer(IssuerParameter):
    def get_issuer(self):
        return OWN


class Tokens(JWTBearerTokenGenerator):
    def get_jwks(self):
        return KEYS

    def get_audiences(self, client, user, scope):
        return request.form["resource"]


def issuer():
    global KEYS
    KEYS = KeySet([RSAKey.generate_key(2048, {"use": "sig", "alg": "RS256"}, auto_kid=True)])

    def save(token, asked):
        if "refresh_token" in token:
            renewals[token["refresh_token"]] = Renewal(token["refresh_token"], asked.client, token.get("scope", ""))

    server = AuthorizationServer(app, query_client=clients.get, save_token=save)
    server.register_grant(Codes, [CodeChallenge(required=True)])
    server.register_extension(Issuer())
    server.register_grant(Renewals)
    refresh = lambda **_: secrets.token_urlsafe(32)
    server.register_token_generator("default", Tokens(issuer=OWN, refresh_token_generator=refresh))
    server.register_endpoint(Registration)

    @app.get("/.well-known/oauth-authorization-server")
    def metadata():
        return {
            "issuer": OWN,
            "authorization_endpoint": f"{OWN}/authorize",
            "token_endpoint": f"{OWN}/token",
            "registration_endpoint": f"{OWN}/register",
            "jwks_uri": f"{OWN}/jwks",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": Codes.TOKEN_ENDPOINT_AUTH_METHODS,
            "authorization_response_iss_parameter_supported": True,
            "scopes_supported": ["mgp:use"],
        }

    @app.get("/authorize")
    def authorize():
        grant = server.get_consent_grant(end_user=Person())
        return server.create_authorization_response(grant=grant, grant_user=Person())

    app.get("/jwks", endpoint="jwks")(lambda: KEYS.as_dict(private=False))
    app.post("/token", endpoint="token")(lambda: server.create_token_response())
    app.post("/register", endpoint="register")(lambda: server.create_endpoint_response("client_registration"))


def resource(issuer):
    def fetch(url):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(url, timeout=30) as answer:
            return json.load(answer)

    def published(kind):
        return fetch(f"{issuer}/.well-known/{kind}")

    class Validator(JWTBearerTokenValidator):
        def get_jwks(self):
            try:
                metadata = published("oauth-authorization-server")
            except urllib.error.HTTPError:
                metadata = published("openid-configuration")
            return KeySet.import_key_set(fetch(metadata["jwks_uri"]))

    protector = ResourceProtector()
    protector.register_token_validator(Validator(issuer=issuer, resource_server=f"{OWN}/mcp"))
    place = "/.well-known/oauth-protected-resource/mcp"

    @app.get(place)
    def metadata():
        return {
            "resource": f"{OWN}/mcp",
            "authorization_servers": [issuer],
            "scopes_supported": ["mgp:use"],
            "bearer_methods_supported": ["header"],
        }

    @app.after_request
    def challenge(answer):
        if answer.status_code == 401:
            answer.headers["WWW-Authenticate"] = f'Bearer resource_metadata="{OWN}{place}", scope="mgp:use"'
        return answer

    @app.post("/mcp")
    @protector("mgp:use")
    def mcp():
        asked = request.get_json()
        answers = {"initialize": initialize, "tools/list": tools, "tools/call": call, "ping": lambda _: {}}
        if "id" not in asked:
            return "", 202
        reply = {"jsonrpc": "2.0", "id": asked["id"]}
        if asked["method"] not in answers:
            return jsonify(reply | {"error": {"code": -32601, "message": "unknown method"}})
        return jsonify(reply | {"result": answers[asked["method"]](asked.get("params", {}))})


def initialize(params):
    version = "2025-06-18"
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "guarded", "version": "1"}}


def tools(_):
    return {"tools": [{"name": "test_simple_text", "description": "Says a text.", "inputSchema": {"type": "object"}}]}


def call(_):
    return {"content": [{"type": "text", "text": "This is a simple text response for testing."}]}


issuer() if PART == "issuer" else resource(sys.argv[3])
app.run("127.0.0.1", PORT)
