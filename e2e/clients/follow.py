"""Follows the objects of a kind through weir.status.v1 and prints every change as a line of JSON.

    PYTHONPATH=proto python follow.py ADDRESS TOKEN KIND NAMESPACE

Lists in pages, watches from there, resumes where a stream broke off, and lists anew when the service says that it no longer
knows what was deleted meanwhile. What it has printed adds up to what is there, through restarts and pauses of either side.
"""

import json
import sys
import time

import grpc

messages, services = grpc.protos_and_services("weir/status/v1/status.proto")
PAGE_SIZE = 500
RETRY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED)


class Follower:
    def __init__(self, address, token, kind, namespace):
        # A connection that has died without a word is found within half a minute.
        options = [("grpc.keepalive_time_ms", 15_000), ("grpc.max_reconnect_backoff_ms", 1_000)]
        self.client = services.StatusStub(grpc.insecure_channel(address, options))
        self.metadata = [("authorization", f"Bearer {token}")]
        self.kind, self.namespace = kind, namespace
        self.objects = {}

    def list(self):
        """Lists all pages; prints what is new and what has gone. Returns the version to watch from."""
        there, token = {}, ""
        while True:
            request = messages.ListRequest(kind=self.kind, namespace=self.namespace, page_size=PAGE_SIZE, page_token=token)
            page = self.client.List(request, metadata=self.metadata)
            there.update((key(item), item) for item in page.objects)
            token = page.next_page_token
            if not token:
                break
        for gone in self.objects.keys() - there.keys():
            self.deleted(self.objects[gone])
        for item in there.values():
            self.applied(item)
        return page.resource_version

    def watch(self, version):
        """Follows from a version until the stream breaks off; yields the versions that it may be resumed from."""
        request = messages.WatchRequest(kind=self.kind, namespace=self.namespace, resource_version=version)
        for change in self.client.Watch(request, metadata=self.metadata):
            if change.type == messages.CHANGE_TYPE_APPLIED:
                self.applied(change.object)
            elif change.type == messages.CHANGE_TYPE_DELETED:
                self.deleted(change.object)
            yield change.resource_version

    def follow(self):
        version = ""
        while True:
            try:
                version = version or self.list()
                for version in self.watch(version):
                    pass
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.OUT_OF_RANGE:
                    version = ""
                    continue
                if error.code() not in RETRY:
                    raise
            time.sleep(0.5)

    def applied(self, item):
        if self.objects.get(key(item)) != item:
            self.objects[key(item)] = item
            tell("applied", item)

    def deleted(self, item):
        if self.objects.pop(key(item), None):
            tell("deleted", item)


def key(item):
    return item.kind, item.namespace, item.name


def tell(change, item):
    line = {"change": change, "namespace": item.namespace, "name": item.name, "suspended": item.suspended}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    Follower(*sys.argv[1:5]).follow()
