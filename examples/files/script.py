print(open("data.csv").read())
