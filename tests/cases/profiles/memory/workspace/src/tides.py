def height(hour):
    return 3.1
