# The line to Spillway: frames of a length (32 bits, big endian) and a Marshal text, on what were standard input and
# output. What scripts print goes to the log instead, and there is nothing to read for them.
module Spillway
  module Wire
    ANSWER = 0
    RENDER = 1
    LOG = 2
    PROGRESS = 3

    INPUT = STDIN.dup.binmode
    OUTPUT = STDOUT.dup.binmode
    STDIN.reopen(File::NULL)
    STDOUT.reopen(STDERR)
    STDOUT.sync = true
    STDERR.sync = true
    # A thread of a script may log while the script runs.
    TURN = Mutex.new

    def self.read
      head = INPUT.read(4)
      exit if head.nil? || head.bytesize < 4
      Marshal.load(INPUT.read(head.unpack1("N")))
    end

    def self.write(*message)
      body = Marshal.dump(message)
      TURN.synchronize do
        OUTPUT.write([body.bytesize].pack("N"), body)
        OUTPUT.flush
      end
    end

    def self.log(level, text)
      write(LOG, level.to_s, Values.text(text.to_s))
    end

    # Spillway may be killed while a script loops: nobody is left then to end it.
    def self.end_with(parent)
      Thread.new do
        loop do
          sleep 1
          exit!(1) if Process.ppid != parent
        end
      end
    end
  end
end
