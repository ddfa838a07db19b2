"""The file that holds the task stack, as YAML text."""

from __future__ import annotations

from contextasm.text.task_stack import TaskStack

TASK_FILE = "tasks.yaml"


def task_file_text(stack: TaskStack) -> str:
    """The stack as YAML that `text.frames.stack_of` reads again."""
    import yaml

    kept = ("id", "goal", "parent", "status", "result", "reason")
    tasks = [{key: value for key in kept if (value := getattr(frame, key))} for frame in stack.frames]
    head = {"current": stack.current} if stack.current else {}
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump({**head, "tasks": tasks}, Dumper=dumper, allow_unicode=True, sort_keys=False, width=10**6))
