/// The subcommands, in the order of the overview.
enum AllCommands {
  static let types: [any (Command & SendableMetatype).Type] = [
    DemoCommand.self, ServeCommand.self, DiscoverCommand.self, ServicesCommand.self,
    IncludesCommand.self, CharacteristicsCommand.self, DescriptorsCommand.self,
    ReadCommand.self, WriteCommand.self, SubscribeCommand.self, RawCommand.self,
    SessionCommand.self,
    PlayCommand.self, ConformCommand.self, FuzzCommand.self, DecodeCommand.self,
    CaptureCommand.self, BenchCommand.self, LinkCommand.self, AdaptersCommand.self,
    ScanCommand.self, AdvertiseCommand.self, PairCommand.self, UnpairCommand.self,
    BondsCommand.self, ChannelCommand.self, DoctorCommand.self, CompletionCommand.self,
    ManCommand.self,
  ]

  static var descriptions: [CommandDescription] { types.map { $0.description } }
}
