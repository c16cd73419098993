"""An S3 client without an access key: store_signer.py, in another container, signs its requests."""

import json

from job_environment import text_env
from job_result import JobError
from local_requests import ask
from s3_client import S3Client

START_SECONDS = 60


class RemotelySignedClient(S3Client):
    """Sends the requests of an S3Client that the container store-signer has signed."""

    def sign(self, method: str, path: str, query: str, digest: str) -> dict[str, str]:
        request = {"method": method, "path": path, "query": query, "digest": digest}
        missing = JobError("StoreSignerMissing", "the container store-signer does not answer")
        answer = ask(text_env("STORE_SIGNER_SOCKET"), json.dumps(request), START_SECONDS, missing)
        if "headers" not in answer:
            raise JobError(str(answer.get("reason")), str(answer.get("message")))
        return {str(name): str(value) for name, value in answer["headers"].items()}
