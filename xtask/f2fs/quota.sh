# Quota of users, groups and projects.
make -O extra_attr,quota,project_quota
mounted
for user in 1000 1001 70000; do
    mkdir u$user; text 50000 >u$user/file; chown -R $user:$((user + 5)) u$user
done
mkdir p; chattr -p 9 p; text 100000 >p/inherits; chattr -p 10 u1000
done_
