"""What python3-oauthlib says of requests: reads JSON lines {method, uri, body, headers} on stdin in order, prints true or false for each.

One provider over all lines, so that a nonce used twice is seen. Credentials, as arguments: consumer
key and secret, token and secret.
"""
import json
import sys
import time

from oauthlib.oauth1 import RequestValidator, ResourceEndpoint

consumers = {sys.argv[1]: sys.argv[2]}
tokens = {sys.argv[3]: sys.argv[4]}
used = set()


class Validator(RequestValidator):
    enforce_ssl = False
    client_key_length = access_token_length = nonce_length = (1, 200)
    dummy_client = "nobody"
    dummy_access_token = "nothing"
    timestamp_lifetime = 300

    @property
    def allowed_signature_methods(self):
        return ("HMAC-SHA1",)

    def check_client_key(self, client_key):
        return True

    def check_access_token(self, token):
        return True

    def check_nonce(self, nonce):
        return 1 <= len(nonce) <= 200 and nonce.isascii()

    def validate_client_key(self, client_key, request):
        return client_key in consumers

    def validate_access_token(self, client_key, token, request):
        return token in tokens

    def validate_realms(self, client_key, token, request, uri=None, realms=None):
        return True

    def get_client_secret(self, client_key, request):
        return consumers.get(client_key, "none")

    def get_access_token_secret(self, client_key, token, request):
        return tokens.get(token, "none")

    def validate_timestamp_and_nonce(self, client_key, timestamp, nonce, request, request_token=None, access_token=None):
        if abs(time.time() - int(timestamp)) > self.timestamp_lifetime:
            return False
        known = (client_key, timestamp, nonce, access_token) in used
        used.add((client_key, timestamp, nonce, access_token))
        return not known


endpoint = ResourceEndpoint(Validator())
for line in sys.stdin:
    asked = json.loads(line)
    valid, _ = endpoint.validate_protected_resource_request(asked["uri"], asked["method"], asked.get("body"), asked["headers"])
    print(json.dumps(bool(valid)))
