#!/usr/bin/env python3
"""Writes the message of the day on all machines, and checks in each stage that it is still there."""
import json
import sys

PATH = "/etc/motd.d/greeting"


def initialise(request):
    text = f"{request['values']['text']} to {request['configuration']['clusterName']}\n"
    return {"contributions": [{"scope": "cluster", "file": {"path": PATH, "content": {"text": text}}}]}


def render(request):
    paths = [one["file"]["path"] for one in request["contributions"] if "file" in one]
    if PATH not in paths:
        return {"findings": [{"severity": "fatal", "message": f"{PATH} is gone"}]}
    return {"files": [{"path": "greeting.txt", "content": f"{len(paths)} files\n"}]}


def deploy(request):
    return {"details": {"greeting": "deployed"}}


def validate(request):
    if request["details"].get("greeting") != "deployed":
        return {"findings": [{"severity": "warning", "message": "the greeting was not deployed"}]}
    return {}


stages = {"initialise": initialise, "render": render, "deploy": deploy, "validate": validate}
request = json.load(sys.stdin)
json.dump(stages[request["stage"]](request), sys.stdout)
