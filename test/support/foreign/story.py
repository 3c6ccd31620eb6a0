"""A day in the life of a client that was not written for this sandbox: requests-oauthlib, unmodified.

Takes the base URL, the consumer key and secret and the address of a webhook endpoint as arguments; prints one JSON
object: what each step was answered. Judges nothing; the test does.
"""
import hashlib
import json
import os
import re
import sys
from urllib.parse import parse_qs, urlencode, urljoin, urlparse

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

import requests
from oauthlib.oauth2 import BackendApplicationClient
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth1, OAuth1Session, OAuth2Session

base, key, secret, hook = sys.argv[1:5]
account = "18ce54d4x5t"
ads = base + "/12"
own = ads + "/accounts/" + account
seen = {}


def keep(name, answer):
    try:
        body = answer.json()
    except ValueError:
        body = answer.text
    seen[name] = {"status": answer.status_code, "body": body}
    return body


def click(address, decision):
    """Opens the page and sends its own form, as a browser does."""
    page = requests.get(address).text
    fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', page))
    fields["decision"] = decision
    target = urljoin(address, re.search(r'<form[^>]*action="([^"]*)"', page).group(1))
    return requests.get(target + "?" + urlencode(fields), allow_redirects=False)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


# Sign-in by PIN, then by callback.
asking = OAuth1Session(key, client_secret=secret, callback_uri="oob")
asking.fetch_request_token(base + "/oauth/request_token")
pin = re.search(r'id="oauth_pin">([^<]+)<', click(asking.authorization_url(base + "/oauth/authorize"), "allow").text).group(1)
by_pin = asking.fetch_access_token(base + "/oauth/access_token", verifier=pin)
seen["pin"] = {"user_id": by_pin["user_id"], "screen_name": by_pin["screen_name"]}

asking = OAuth1Session(key, client_secret=secret, callback_uri="http://127.0.0.1:9/done?from=shop")
asking.fetch_request_token(base + "/oauth/request_token")
sent_to = click(asking.authorization_url(base + "/oauth/authenticate", force_login="true"), "allow").headers["location"]
asking.parse_authorization_response(sent_to)
by_callback = asking.fetch_access_token(base + "/oauth/access_token")
seen["callback"] = {"location": sent_to.split("?")[0], "from": parse_qs(urlparse(sent_to).query)["from"][0], "user_id": by_callback["user_id"]}

user = OAuth1Session(key, client_secret=secret, resource_owner_key=by_pin["oauth_token"], resource_owner_secret=by_pin["oauth_token_secret"])

# Lists, over their pages.
keep("accounts", user.get(ads + "/accounts", params={"with_total_count": "true"}))
names, cursor, pages = [], None, 0
while pages < 20:
    params = {"count": 4, "sort_by": "name-asc"}
    if cursor:
        params["cursor"] = cursor
    page = user.get(own + "/line_items", params=params).json()
    names += [one["name"] for one in page["data"]]
    pages += 1
    cursor = page["next_cursor"]
    if not cursor:
        break
seen["paging"] = {"names": names, "pages": pages}
keep("search", user.get(own + "/media_library?q=Mugs+%26%20%C3%BC", params={"count": 5}))

# Create with a form and with a query, update, delete.
made = keep("createByForm", user.post(own + "/campaigns", data={"funding_instrument_id": "lygyi", "name": "Dogs, Cats & Mice (☃)! ~*'"}))
campaign = made["data"]["id"]
keep("createByQuery", user.post(own + "/campaigns", params={"funding_instrument_id": "lygyi", "name": "a+b c%20d"}))
keep("update", user.put(own + "/campaigns/" + campaign, params={"name": "Renamed", "total_budget_amount_local_micro": ""}))
keep("delete", user.delete(own + "/campaigns/" + campaign))
keep("deletedAgain", user.delete(own + "/campaigns/" + campaign))
keep("trailingSlash", user.get(own + "/campaigns/"))

# JSON batches.
products = [
    {"id": "sku-%d" % n, "title": "Krug № %d" % n, "description": "Plain", "availability": "in stock", "condition": "new", "price": "10.00 USD", "brand": "Example",
     "link": "https://shop.example.com/%d" % n, "image_link": "https://shop.example.com/%d.jpg" % n}
    for n in range(25)
]
put = keep("putProducts", user.put(ads + "/product_catalogs/4001/products", json={"products": products}))
keep("readProducts", user.get(ads + "/product_catalogs/4001/products", params={"count": 10}))
keys = [one["product_key"] for one in put["data"]["products_response"]][:2]
keep("deleteProducts", user.delete(ads + "/product_catalogs/4001/products", json={"product_keys": keys}))
users = [{"operation_type": "Update", "params": {"users": [{"email": [digest("a%d@example.com" % n)]}]}} for n in range(3)]
keep("audienceUsers", user.post(own + "/custom_audiences/1nmth/users", json=users))
keep("listUsers", user.post(ads + "/batch/accounts/" + account + "/do_not_reach_lists/2dnr/users", json=users))
keep("badUsers", user.post(own + "/custom_audiences/1nmth/users", json=users + [{"operation_type": "Update", "params": {}}]))
keep("batch", user.post(ads + "/batch/accounts/" + account + "/campaigns", json=[{"operation_type": "Update", "params": {"campaign_id": "8wku2", "name": "By batch"}}]))

# A post for the advertiser, and v2 by user and by bearer token.
post = keep("post", user.post(own + "/tweet", data={"as_user_id": "1001", "text": "Dogs, Cats & Mice ☃"}))["data"]
fields = {"ids": post["id_str"] + ",1166476031668015106", "tweet.fields": "created_at,author_id,attachments", "expansions": "author_id,attachments.media_keys", "media.fields": "duration_ms", "user.fields": "username"}
keep("lookUpByUser", user.get(base + "/2/tweets", params=fields))
keep("postV2", user.post(base + "/2/tweets", json={"text": "Hello from elsewhere"}))
app = OAuth2Session(client=BackendApplicationClient(client_id=key))
app.fetch_token(base + "/oauth2/token", auth=HTTPBasicAuth(key, secret))
keep("lookUpByBearer", app.get(base + "/2/tweets", params=fields))
webhook = keep("webhook", app.post(base + "/2/webhooks", json={"url": hook}))
keep("webhooks", app.get(base + "/2/webhooks"))
keep("webhookCheck", app.put(base + "/2/webhooks/" + webhook["data"]["id"]))
keep("webhookRemove", app.delete(base + "/2/webhooks/" + webhook["data"]["id"]))

# Refusals, each in its documented shape.
keep("bearerOnAds", app.get(ads + "/accounts"))
keep("badCount", user.get(ads + "/accounts", params={"count": 1001}))
wrong = OAuth1Session(key, client_secret="wrong", resource_owner_key=by_pin["oauth_token"], resource_owner_secret=by_pin["oauth_token_secret"])
keep("wrongSecret", wrong.get(ads + "/accounts"))
plain = OAuth1(key, secret, by_pin["oauth_token"], by_pin["oauth_token_secret"], signature_method="PLAINTEXT")
keep("plaintext", requests.get(ads + "/accounts", auth=plain))
keep("invalidate", user.post(base + "/1.1/oauth/invalidate_token"))
keep("afterwards", user.get(ads + "/accounts"))
print(json.dumps(seen))
