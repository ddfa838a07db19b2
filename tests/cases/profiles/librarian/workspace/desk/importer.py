# Reads tickets
def parse(line):
    return line.split(",")
