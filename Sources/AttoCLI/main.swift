print("atto")
