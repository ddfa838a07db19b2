"""The file of the task stack, as YAML text."""

from __future__ import annotations

from contextasm.text.task_stack import TaskStack

TASK_FILE = "tasks.yaml"


def task_file_text(stack: TaskStack) -> str:
    """The stack as YAML, for `text.task_stack.parse_task_stack`."""
    import yaml

    keys = ("id", "goal", "parent", "status", "result", "reason")
    tasks = [{key: value for key in keys if (value := getattr(task, key))} for task in stack.frames]
    head = {"current": stack.current} if stack.current else {}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump({**head, "tasks": tasks}, Dumper=dumper, allow_unicode=True, sort_keys=False, width=10**6))
