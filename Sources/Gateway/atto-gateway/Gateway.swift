import AttoGateway

/// The command `atto-gateway`.
@main struct Gateway {
  static func main() {
    _ = Configuration(name: "gateway")
  }
}
